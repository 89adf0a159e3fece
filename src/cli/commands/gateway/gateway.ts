import { DEFAULT_TENANT } from '../../../auth/credential.ts'
import { databaseOf } from '../../../config/database.ts'
import { type Config, loadConfig } from '../../../config/index.ts'
import { DEFAULT_DATABASE } from '../../../config/server.ts'
import { readRule } from '../../../features/policies/shape.ts'
import { ANY_PROMPT, READ_RESOURCE } from '../../../features/upstreams/reads.ts'
import { fileUpstream, ISOLATIONS, type UpstreamRecord } from '../../../features/upstreams/shape.ts'
import type { Upstreams } from '../../../gateway/upstreams/upstreams.ts'
import { type LocalKey, localKeyFile, openLocalKey } from '../../../server/local-key.ts'
import type { OpenServer } from '../../../server/open-server.ts'
import { messageOf } from '../../../util/error-message.ts'
import { command } from '../../command.ts'
import { CliError, EXIT } from '../../exit.ts'
import { type Output, paint, warn } from '../../output.ts'
import { type ProcessOptions, serveUntilStopped } from '../../server-process.ts'
import { LISTEN_OPTIONS, listenFlags, SETTINGS_OPTIONS, settingsFlags } from '../../settings-options.ts'
import { addToClaude } from '../mcp/config.ts'
import type { ClientService } from './clients.ts'
import { servesOf } from './join.ts'
import { upstreamName } from './name.ts'
import { upstreamLineOf } from './report-upstreams.ts'
import { type HostGateway, serveHttpGateway, serveStdioGateway } from './share.ts'
import { StartReport } from './start.ts'

const ALLOWANCES = ['reads', 'all', 'none'] as const
type Allowance = (typeof ALLOWANCES)[number]

const MAX_CONNECT_SECONDS = 600
/** Clients kill a program that has not ended about four seconds after they closed its input. */
const STDIO_STOP_MS = 1_000

export const gateway = command({
  name: 'gateway',
  summary:
    'Put an MCP server in front of your agents: every call durable, cancelable, and approved where it writes.',
  takes: ['COMMAND', '[ARG...]'],
  options: {
    name: { type: 'string', value: 'NAME', doc: 'what to call it; worked out from the command if absent' },
    allow: {
      type: 'string',
      value: 'WHAT',
      doc: 'calls that need no approval: reads (tools that say they only read, prompts and resources; the default), all or none',
    },
    env: {
      type: 'string',
      value: 'VARIABLE',
      multiple: true,
      doc: 'let it have this variable of yours',
    },
    isolation: {
      type: 'string',
      value: 'MODE',
      doc: 'shared: all sessions use one program (the default); per_session: each gets one of its own',
    },
    'connect-timeout': {
      type: 'string',
      value: 'SECONDS',
      doc: 'longest that it may take to answer at the start, 1 to 600; default 30',
    },
    stdio: { type: 'boolean', doc: 'serve MCP on stdin and stdout, for a client that starts its servers' },
    ...LISTEN_OPTIONS,
    ...SETTINGS_OPTIONS,
  },
  notes: () =>
    [
      'Put -- before the command:',
      '',
      '  asyncgate gateway -- npx -y @modelcontextprotocol/server-filesystem ~/notes',
      '',
      'It asks agents for no key unless ASYNCGATE_API_KEY is set, listens on this machine only, and keeps everything',
      'in SQLite under .asyncgate/. Agents cannot approve: that takes your key, which is in your configuration folder',
      '(ASYNCGATE_CONFIG_DIR; by default ~/.config/asyncgate) and which the asyncgate command on this machine finds.',
      'Rules of your own (asyncgate policies) come before what --allow says.',
    ].join('\n'),
  async run(input, output) {
    const allow = allowanceOf(input.text('allow') ?? 'reads')
    if (allow === undefined) throw input.wrong(`--allow takes one of ${ALLOWANCES.join(', ')}.`)
    const connectSeconds = input.whole('connect-timeout')
    if (connectSeconds !== undefined && (connectSeconds < 1 || connectSeconds > MAX_CONNECT_SECONDS))
      throw input.wrong(`--connect-timeout takes 1 to ${MAX_CONNECT_SECONDS} seconds.`)
    const isolation = ISOLATIONS.find((each) => each === (input.text('isolation') ?? 'shared'))
    if (isolation === undefined) throw input.wrong(`--isolation takes one of ${ISOLATIONS.join(', ')}.`)
    const record = recordOf(input.words, {
      name: input.text('name'),
      env: input.texts('env'),
      connectSeconds,
      isolation,
    })
    const isStdio = input.flag('stdio')
    const { file, flags } = settingsFlags(input)
    const ownDatabase = `sqlite:.asyncgate/gateway-${record.name}.db`
    let localKey: LocalKey | undefined
    const config = loadConfig({
      env: process.env,
      file,
      flags: { ...flags, ...listenFlags(input) },
      preset: (isGiven) => {
        localKey = isGiven('admin_keys') ? undefined : openLocalKey(warn)
        return {
          allow_insecure_dev: !isGiven('api_key'),
          // So nobody else is an admin, whatever a request says.
          ...(localKey && { admin_keys: `${localKey.name}=${localKey.key}` }),
          log_level: 'warn',
          upstream_default: allow === 'all' ? 'ALLOW' : 'REQUIRE_APPROVAL',
          // A client may start several, in one folder.
          ...(isStdio && { port: 0, database_url: ownDatabase }),
        }
      },
    })
    const serves = servesOf(record, input.words, allow, process.env)
    const host = hostOf({ record, words: input.words, allow, config, output, isStdio, localKey })
    const { database } = config
    if (isStdio) {
      const isOwn = config.server.database_url === ownDatabase
      const alternative = isOwn ? databaseOf(DEFAULT_DATABASE) : undefined
      await serveStdioGateway({ serves, database, alternative, host })
    } else {
      await serveHttpGateway({ serves, database, host })
    }
    return undefined
  },
})

interface HostParts {
  readonly record: UpstreamRecord
  readonly words: readonly string[]
  readonly allow: Allowance
  readonly config: Config
  readonly output: Output
  readonly isStdio: boolean
  readonly localKey: LocalKey | undefined
}

/** Runs the gateway in this process, for whichever clients come. */
function hostOf({ record, words, allow, config, output, isStdio, localKey }: HostParts): HostGateway {
  return async ({ store, clients, clientGone, whenServing }) => {
    const starting = { name: record.name, command: words, connectTimeoutMs: record.connect_timeout_ms }
    const report = new StartReport(starting, (line) => process.stderr.write(`${line}\n`))
    const options: ProcessOptions = {
      store,
      isStdio,
      ...(clientGone && { unneeded: clientGone, callsStopMs: STDIO_STOP_MS }),
      localKey,
      upstreams: [record],
      onStderr: (_, line) => report.heard(line),
      rules: (upstreams) => {
        report.end()
        const tools = checkedTools(upstreams, record.name, report)
        return allow === 'reads' ? readingRules(record.name, tools) : []
      },
    }
    const whenReady = async (server: OpenServer) => {
      const service = clientService(server)
      clients.ready(service)
      if (isStdio) sayWhereToApprove(server, config)
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

function allowanceOf(text: string): Allowance | undefined {
  return ALLOWANCES.find((each) => each === text)
}

interface Given {
  readonly name: string | undefined
  readonly env: readonly string[]
  readonly connectSeconds: number | undefined
  readonly isolation: UpstreamRecord['isolation']
}

function recordOf(words: readonly string[], { name, env, connectSeconds, isolation }: Given): UpstreamRecord {
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

/** The tools of the upstream; without them there is nothing to serve. */
function checkedTools(upstreams: Upstreams, name: string, report: StartReport): readonly Named[] {
  const { health } = upstreams.get(name) ?? {}
  if (health?.state !== 'ready') {
    throw new CliError(
      EXIT.failure,
      `${name} did not start: ${health?.last_error?.message ?? 'it does not answer'}`,
      [
        ...report.explanation(health?.last_error?.code === 'UPSTREAM_TIMEOUT'),
        'Try the command by itself: it has to be an MCP server that speaks on stdin and stdout.',
      ].join('\n'),
    )
  }
  return upstreams.tools().filter(({ upstream }) => upstream === name)
}

interface Named {
  readonly tool: string
  readonly annotations?: Readonly<Record<string, unknown>>
}

/** Tools that say that they change nothing. What they say is pinned: a tool that says so later is no such tool. */
function readers(tools: readonly Named[]): string[] {
  return tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ tool }) => tool)
}

function readingRules(upstream: string, tools: readonly Named[]) {
  const names = readers(tools)
  const allow = (id: string, description: string, what: object) =>
    readRule({ id, action: 'ALLOW', priority: -1_000_000, description, ...what }, () => false)
  const reading = { scope: { upstream }, condition: { in: [{ var: 'tool' }, names] } }
  return [
    ...(names.length === 0 ? [] : [allow('gateway-reads', 'Tools that say that they only read.', reading)]),
    allow('gateway-prompts', 'Prompts are only read.', { scope: { upstream, tool: ANY_PROMPT } }),
    allow('gateway-resources', 'Resources are only read.', { scope: { upstream, tool: READ_RESOURCE } }),
  ]
}

async function introduce(
  output: Output,
  { server }: Config,
  { url, gate, upstreams }: OpenServer,
  name: string,
  allow: Allowance,
): Promise<void> {
  const title = (text: string) => output.say(`\n${paint('bold', text)}`)
  if (server.allow_insecure_dev) {
    warn('No key is asked for: every program on this machine can call these tools. See ASYNCGATE_API_KEY.')
  }
  output.say(`  ${await upstreamLineOf(gate, name)}`)
  const { prompts, resources } = upstreams.offers()
  if (prompts.length + resources.length > 0) {
    const how = allow === 'none' ? 'wait for your approval' : 'are read at once'
    output.say(`  ${name}: ${prompts.length} prompts and ${resources.length} resources ${how}.`)
  }
  output.say(`  MCP  ${url}/mcp`)
  output.say(`  REST ${url}/v1, described at ${url}/docs`)
  title('Connect an agent')
  output.say(`  ${addToClaude(url)}`)
  output.say(`  asyncgate mcp config --client codex --url ${url}     (or claude, cursor, vscode)`)
  title('Approve, or not')
  const at = url === server.url ? '' : ` --url ${url}`
  if (server.console) output.say(`  ${url}/console/approvals     (sign in with the key in ${localKeyFile()})`)
  output.say(`  asyncgate approvals list${at}`)
  output.say(`  asyncgate approvals approve TASK_ID${at}`)
  output.say(`  asyncgate approvals deny TASK_ID --reason "..."${at}\n`)
}

function sayWhereToApprove({ url }: OpenServer, { server }: Config): void {
  const pages = server.console ? `at ${url}/console, or ` : ''
  warn(`AsyncGate: approve ${pages}with "asyncgate approvals list --url ${url}"`)
}

/** Serves clients on pairs of streams. The client may be an agent, so it cannot approve; people approve over HTTP. */
function clientService({ url, serveStdio }: OpenServer): ClientService {
  const credential = { kind: 'shared', tenant: DEFAULT_TENANT, no_admin: true } as const
  return { url, serve: (relayed) => serveStdio({ credential, relayed }) }
}
