import { databaseOf } from '../../../config/database.ts'
import { type Config, loadConfig } from '../../../config/index.ts'
import { DEFAULT_DATABASE } from '../../../config/server.ts'
import { DEFAULT_TENANT } from '../../../core/principal.ts'
import { readRule } from '../../../features/policies/shape.ts'
import { ANY_PROMPT, READ_RESOURCE } from '../../../features/upstreams/reads.ts'
import { fileUpstream, type UpstreamRecord } from '../../../features/upstreams/shape.ts'
import type { Upstreams } from '../../../gateway/upstreams/upstreams.ts'
import { type LocalKey, localKeyFile, openLocalKey } from '../../../server/local-key.ts'
import type { OpenServer } from '../../../server/open-server.ts'
import { messageOf } from '../../../util/error-message.ts'
import { CliError, EXIT } from '../../exit.ts'
import { type Output, paint, warn } from '../../output.ts'
import { type ProcessOptions, serveUntilStopped } from '../../server-process.ts'
import { addToClaude, addToOthers } from '../mcp/clients.ts'
import type { ClientService } from './clients.ts'
import { servesOf } from './join.ts'
import { upstreamName } from './name.ts'
import { upstreamLineOf } from './report-upstreams.ts'
import { type HostGateway, serveHttpGateway, serveStdioGateway } from './share.ts'
import { StartReport } from './start.ts'

/** Clients kill a program that has not ended about four seconds after they closed its stdin. */
const STDIO_STOP_MS = 1_000

/** The arguments and options of `asyncgate gateway`. */
export interface GatewayRequest {
  readonly name: string | undefined
  /** The program of the upstream and its arguments. */
  readonly words: readonly string[]
  readonly env: readonly string[]
  readonly allow: 'reads' | 'all' | 'none'
  readonly connectSeconds: number | undefined
  readonly isolation: UpstreamRecord['isolation']
  readonly isStdio: boolean
  readonly settings: Pick<Parameters<typeof loadConfig>[0], 'file' | 'flags'>
}

export async function runGateway(request: GatewayRequest, output: Output): Promise<void> {
  const { words, allow, isStdio, settings } = request
  const record = recordOf(request)
  const ownDatabase = `sqlite:.asyncgate/gateway-${record.name}.db`
  let localKey: LocalKey | undefined
  const config = loadConfig({
    env: process.env,
    ...settings,
    preset: (isGiven) => {
      localKey = isGiven('admin_keys') ? undefined : openLocalKey(warn)
      return {
        allow_insecure_dev: !isGiven('api_key'),
        // With admin keys, a request without one of them is never an admin's.
        ...(localKey && { admin_keys: `${localKey.name}=${localKey.key}` }),
        log_level: 'warn',
        mcp_toolsets: 'gateway',
        upstream_default: allow === 'all' ? 'ALLOW' : 'REQUIRE_APPROVAL',
        // A client may start several gateways in one folder.
        ...(isStdio && { port: 0, database_url: ownDatabase }),
      }
    },
  })
  const serves = servesOf(record, words, allow, process.env)
  const host = hostOf({ request, record, config, output, localKey })
  const { database } = config
  if (isStdio) {
    const isOwn = config.server.database_url === ownDatabase
    const alternative = isOwn ? databaseOf(DEFAULT_DATABASE) : undefined
    await serveStdioGateway({ serves, database, alternative, host })
  } else {
    await serveHttpGateway({ serves, database, host })
  }
}

interface HostDeps {
  readonly request: GatewayRequest
  readonly record: UpstreamRecord
  readonly config: Config
  readonly output: Output
  readonly localKey: LocalKey | undefined
}

/** Runs the gateway in this process, for its own client and those of other processes. */
function hostOf({ request, record, config, output, localKey }: HostDeps): HostGateway {
  const { words, allow, isStdio } = request
  return async ({ store, clients, clientGone, whenServing }) => {
    const starting = { name: record.name, command: words, connectTimeoutMs: record.connect_timeout_ms }
    const report = new StartReport(starting, (line) => process.stderr.write(`${line}\n`))
    const options: ProcessOptions = {
      store,
      isStdio,
      ...(clientGone && { unneeded: clientGone, callsStopMs: STDIO_STOP_MS }),
      localKey,
      upstreams: [record],
      onStderr: (_, line) => report.record(line),
      rules: (upstreams) => {
        report.end()
        const tools = checkedTools(upstreams, record.name, report)
        return allow === 'reads' ? readingRules(record.name, tools) : []
      },
    }
    const whenReady = async (server: OpenServer) => {
      const service = clientService(server)
      clients.ready(service)
      if (isStdio) printApprovalHint(server, config)
      else await introduce(output, config, server, record.name, allow)
      return whenServing(service)
    }
    try {
      await serveUntilStopped(config, output, whenReady, options)
    } catch (error) {
      await clients.failed(messageOf(error))
      throw error
    }
  }
}

function recordOf({ words, name, env, connectSeconds, isolation }: GatewayRequest): UpstreamRecord {
  const [program = '', ...args] = words
  const variables = Object.fromEntries(env.map((each) => [each, `env:${each}`]))
  const parsed = fileUpstream.safeParse({
    name: name ?? upstreamName(words),
    transport: { type: 'stdio', command: program, args, env: variables, cwd: process.cwd() },
    isolation,
    ...(connectSeconds !== undefined && { connect_timeout_ms: connectSeconds * 1000 }),
  })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const what = issue?.path[0] === 'name' ? '--name' : String(issue?.path.at(-1))
  throw new CliError(EXIT.usage, `${what} ${issue?.message}.`, 'See "asyncgate gateway --help".')
}

/** The tools of the upstream. Throws if it did not start. */
function checkedTools(upstreams: Upstreams, name: string, report: StartReport): readonly Named[] {
  const { health } = upstreams.get(name) ?? {}
  if (health?.state !== 'ready') {
    throw new CliError(
      EXIT.failure,
      `${name} did not start: ${health?.last_error?.message ?? 'it does not respond'}`,
      [
        ...report.explanation(health?.last_error?.code === 'UPSTREAM_TIMEOUT'),
        'Run the command by itself: it must be an MCP server on stdin and stdout.',
      ].join('\n'),
    )
  }
  return upstreams.tools().filter(({ upstream }) => upstream === name)
}

interface Named {
  readonly tool: string
  readonly annotations?: Readonly<Record<string, unknown>>
}

/** Tools with the read-only annotation. Definitions are pinned, so a tool cannot gain the annotation later. */
function readers(tools: readonly Named[]): string[] {
  return tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ tool }) => tool)
}

function readingRules(upstream: string, tools: readonly Named[]) {
  const names = readers(tools)
  const allow = (id: string, description: string, what: object) =>
    readRule({ id, action: 'ALLOW', priority: -1_000_000, description, ...what }, () => false)
  const reading = { scope: { upstream }, condition: { in: [{ var: 'tool' }, names] } }
  return [
    ...(names.length === 0 ? [] : [allow('gateway-reads', 'Tools marked as read-only.', reading)]),
    allow('gateway-prompts', 'Prompts are only read.', { scope: { upstream, tool: ANY_PROMPT } }),
    allow('gateway-resources', 'Resources are only read.', { scope: { upstream, tool: READ_RESOURCE } }),
  ]
}

async function introduce(
  output: Output,
  { server }: Config,
  { url, gate }: OpenServer,
  name: string,
  allow: GatewayRequest['allow'],
): Promise<void> {
  const title = (text: string) => output.print(`\n${paint('bold', text)}`)
  if (server.allow_insecure_dev) {
    warn('No key is required: every program on this machine can call these tools. See ASYNCGATE_API_KEY.')
  }
  output.print(`  ${await upstreamLineOf(gate, name)}`)
  const { prompts, resources } = gate.upstreamOffers(DEFAULT_TENANT)
  if (prompts.length + resources.length > 0) {
    const how = allow === 'none' ? 'need your approval' : 'need no approval'
    output.print(`  ${name}: ${prompts.length} prompts and ${resources.length} resources ${how}.`)
  }
  output.print(`  MCP  ${url}/mcp`)
  output.print(`  REST ${url}/v1, described at ${url}/docs`)
  title('Connect an agent')
  output.print(`  ${addToClaude(url)}`)
  output.print(`  ${addToOthers(url)}`)
  title('Approve or deny')
  const at = url === server.url ? '' : ` --url ${url}`
  if (server.console)
    output.print(`  ${url}/console/approvals     (sign in with the key in ${localKeyFile()})`)
  output.print(`  asyncgate approvals list${at}`)
  output.print(`  asyncgate approvals approve TASK_ID${at}`)
  output.print(`  asyncgate approvals deny TASK_ID --reason "..."${at}\n`)
}

function printApprovalHint({ url }: OpenServer, { server }: Config): void {
  const pages = server.console ? `at ${url}/console, or ` : ''
  warn(`AsyncGate: approve ${pages}with "asyncgate approvals list --url ${url}"`)
}

/** Serves clients on pairs of streams. The client may be an agent, so it cannot approve; people approve over HTTP. */
function clientService({ url, serveStdio }: OpenServer): ClientService {
  const credential = { kind: 'shared', tenant: DEFAULT_TENANT, no_admin: true } as const
  return { url, serve: (relayed) => serveStdio({ credential, relayed }) }
}
