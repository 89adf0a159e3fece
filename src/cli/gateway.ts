import { DEFAULT_TENANT } from '../auth/credential.ts'
import { type Config, loadConfig } from '../config.ts'
import { readRule } from '../gate/policy-shape.ts'
import { fileUpstream, type UpstreamRecord } from '../gate/upstreams-shape.ts'
import type { Upstreams } from '../gateway/upstreams.ts'
import { serveStdioMcp } from '../mcp/stdio.ts'
import { command } from './command.ts'
import { CliError, EXIT } from './exit.ts'
import { upstreamName } from './gateway-name.ts'
import { type LocalKey, localKeyFile, openLocalKey } from './local-key.ts'
import { addToClaude } from './mcp-config.ts'
import type { OpenOptions, OpenServer } from './open-server.ts'
import { type Output, paint, warn } from './output.ts'
import { serveUntilStopped } from './server-process.ts'
import { LISTEN_OPTIONS, listenFlags, SETTINGS_OPTIONS, settingsFlags } from './settings-options.ts'

const ALLOWANCES = ['reads', 'all', 'none'] as const
type Allowance = (typeof ALLOWANCES)[number]

/** The first start of a package may have to fetch it. */
const START_MS = 300_000

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
      doc: 'calls that need no approval: reads (of tools that say they only read; the default), all or none',
    },
    env: {
      type: 'string',
      value: 'VARIABLE',
      multiple: true,
      doc: 'let it have this variable of yours',
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
    const record = recordOf(input.words, input.text('name'), input.texts('env'))
    const isStdio = input.flag('stdio')
    const { file, flags } = settingsFlags(input)
    let localKey: LocalKey | undefined
    const config = loadConfig({
      env: process.env,
      file,
      flags: { ...flags, ...listenFlags(input) },
      preset: (isGiven) => {
        localKey = isGiven('admin_keys') ? undefined : openLocalKey()
        return {
          allow_insecure_dev: !isGiven('api_key'),
          // So nobody else is an admin, whatever a request says.
          ...(localKey && { admin_keys: `${localKey.name}=${localKey.key}` }),
          log_level: 'warn',
          upstream_default: allow === 'all' ? 'ALLOW' : 'REQUIRE_APPROVAL',
          // A client may start several, in one folder.
          ...(isStdio && { port: 0, database_url: `sqlite:.asyncgate/gateway-${record.name}.db` }),
        }
      },
    })
    const options: OpenOptions = {
      upstreams: [record],
      rules: (upstreams) => {
        const tools = checkedTools(upstreams, record.name)
        return allow === 'reads' ? readingRules(record.name, tools) : []
      },
    }
    const whenReady = (server: OpenServer) => {
      if (!isStdio) return introduce(output, config, server, record.name, allow)
      return serveStdio(server, config)
    }
    await serveUntilStopped(config, output, whenReady, {
      ...options,
      isStdio,
      localKey,
    })
    return undefined
  },
})

function allowanceOf(text: string): Allowance | undefined {
  return ALLOWANCES.find((each) => each === text)
}

function recordOf(
  words: readonly string[],
  name: string | undefined,
  env: readonly string[],
): UpstreamRecord {
  const [program = '', ...args] = words
  const variables = Object.fromEntries(env.map((each) => [each, `env:${each}`]))
  const parsed = fileUpstream.safeParse({
    name: name ?? upstreamName(words),
    transport: { type: 'stdio', command: program, args, env: variables, cwd: process.cwd() },
    connect_timeout_ms: START_MS,
  })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const what = issue?.path[0] === 'name' ? '--name' : String(issue?.path.at(-1))
  throw new CliError(EXIT.usage, `${what} ${issue?.message}.`, 'See "asyncgate gateway --help".')
}

/** The tools of the upstream; without them there is nothing to serve. */
function checkedTools(upstreams: Upstreams, name: string): readonly Named[] {
  const { health } = upstreams.get(name) ?? {}
  if (health?.state !== 'ready') {
    throw new CliError(
      EXIT.failure,
      `${name} did not start: ${health?.last_error?.message ?? 'it does not answer'}`,
      'Try the command by itself: it has to be an MCP server that speaks on stdin and stdout.',
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
  if (names.length === 0) return []
  const rule = {
    id: 'gateway-reads',
    action: 'ALLOW',
    scope: { upstream },
    condition: { in: [{ var: 'tool' }, names] },
    priority: -1_000_000,
    description: 'Tools that say that they only read.',
  }
  return [readRule(rule, () => false)]
}

function introduce(
  output: Output,
  { server }: Config,
  open: OpenServer,
  name: string,
  allow: Allowance,
): undefined {
  const { url, upstreams } = open
  const tools = upstreams.tools().filter(({ upstream }) => upstream === name)
  const free = allow === 'all' ? tools.length : allow === 'none' ? 0 : readers(tools).length
  const title = (text: string) => output.say(`\n${paint('bold', text)}`)
  if (server.allow_insecure_dev) {
    warn('No key is asked for: every program on this machine can call these tools. See ASYNCGATE_API_KEY.')
  }
  output.say(
    `  ${name}: ${tools.length} tools. ${free} are called at once, ${tools.length - free} wait for your approval.`,
  )
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
  return undefined
}

/** The client on stdin and stdout; approvals come over REST. What is to be said goes to stderr. */
function serveStdio({ gate, url, sources }: OpenServer, { server }: Config) {
  const pages = server.console ? `at ${url}/console, or ` : ''
  warn(`AsyncGate: approve ${pages}with "asyncgate approvals list --url ${url}"`)
  const served = serveStdioMcp(gate, {
    // It may well be an agent.
    credential: { kind: 'shared', tenant: DEFAULT_TENANT, no_admin: true },
    toolNames: server.mcp_tool_names,
    oldNames: server.legacy_tools,
    sources,
  })
  process.stdin.once('close', () => process.kill(process.pid, 'SIGTERM'))
  return { stop: () => served.close() }
}
