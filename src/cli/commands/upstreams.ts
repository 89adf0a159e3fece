import type { GetUpstreamAnswer, ListUpstreamsAnswer } from '../../client/operations.ts'
import { commandWarning } from '../../server/key-exposure.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import { removeCommand, serverCommand } from '../client.ts'
import { CliError, EXIT } from '../exit.ts'
import { flag, text, texts, unlessEmpty } from '../input.ts'
import type { Output } from '../output.ts'

const list = serverCommand({
  name: 'upstreams list',
  summary: 'List the upstreams: the MCP servers behind the gateway.',
  async run(client, _, output) {
    const found = await client.call('listUpstreams', {})
    output.result(found, () =>
      output.table(
        ['UPSTREAM', 'STATE', 'BREAKER', 'TOOLS', 'QUARANTINED', 'FROM', 'AT', 'LAST ERROR'],
        found.upstreams.map((upstream) => [
          upstream.name,
          upstream.health.state,
          upstream.health.breaker,
          upstream.counts.listed,
          upstream.counts.quarantined,
          upstream.source,
          addressOf(upstream),
          upstream.health.state === 'ready' ? '' : upstream.health.last_error?.message.slice(0, 120),
        ]),
        'There are no upstreams.',
      ),
    )
  },
})

const show = serverCommand({
  name: 'upstreams show',
  summary: 'Show an upstream: its state, its tools, and the policy for each tool.',
  takes: ['NAME'],
  async run(client, input, output) {
    const { outcomeWords } = await import('../../features/upstreams/upstreams.ts')
    const upstream = await client.call('getUpstream', { name: input.arg(0) })
    output.result(upstream, () => {
      printUpstream(output, upstream)
      if (upstream.catalogue.length === 0) return
      output.print()
      output.table(
        ['TOOL', 'STATE', 'NAME', 'CATEGORY', 'CALLS', 'WHY'],
        upstream.catalogue.map(({ tool, status, name, category, reason, policy }) => [
          tool,
          status,
          name,
          category,
          policy && outcomeWords(policy),
          reason ?? policy?.reason,
        ]),
      )
      const warning = commandWarning(upstream)
      if (warning !== undefined) output.print(`\n${warning}`)
    })
  },
})

const add = serverCommand({
  name: 'upstreams add',
  summary: 'Add an MCP server that speaks streamable HTTP, or replace it.',
  takes: ['NAME', 'URL'],
  options: {
    header: texts(
      'NAME=REFERENCE',
      'a header and where the server finds its value, as in Authorization="Bearer env:TOKEN"',
    ),
    allow: texts('TOOL', 'offer only this tool; * is any text'),
    deny: texts('TOOL', 'do not offer this tool'),
    category: texts('TOOL=CATEGORY', 'the category of a tool, for policies'),
    pinned: text(
      'MODE',
      'which definitions are accepted without an admin: first_use (default), each_tool or strict',
    ),
    retry: text(
      'MODE',
      'repeat calls that may have reached the tool: never, idempotent (if the tool says that it is; default) or always',
    ),
    'tool-retry': texts('TOOL=MODE', 'the same for one tool; * is any text'),
    timeout: text('MS', 'time limit of a call; default 300000'),
    concurrency: text('N', 'concurrent calls; default 8'),
    isolation: text(
      'MODE',
      'shared (default): all sessions use one connection; per_session: each has its own',
    ),
    'max-sessions': text('N', 'maximum number of session connections, with per_session; default 32'),
    'max-result': text('BYTES', 'maximum size of a result; default 8388608'),
    disabled: flag('do not connect to it for now'),
  },
  async run(client, input, output) {
    const [name = '', url] = input.args
    const added = await client.call('addUpstream', {
      name,
      transport: { type: 'http', url, headers: input.pairs('header') },
      tools: {
        allow: unlessEmpty(input.texts('allow')),
        deny: input.texts('deny'),
        retry: input.pairs('tool-retry'),
      },
      categories: input.pairs('category'),
      pinned: input.text('pinned'),
      retry: input.text('retry'),
      timeout_ms: input.integer('timeout'),
      concurrency: input.integer('concurrency'),
      isolation: input.text('isolation'),
      max_session_connections: input.integer('max-sessions'),
      max_result_bytes: input.integer('max-result'),
      enabled: !input.flag('disabled'),
    })
    output.result(added, () => {
      output.print(`${name} is added. "asyncgate upstreams show ${name}" shows whether it was reached.`)
    })
  },
})

const remove = removeCommand({
  name: 'upstreams remove',
  summary: 'Remove an upstream with its tools and all accepted definitions.',
  takes: ['NAME'],
  noun: 'upstream',
  list: 'upstreams list',
  remove: (client, name) => client.call('removeUpstream', { name }),
})

const accept = serverCommand({
  name: 'upstreams accept',
  summary:
    'Show the tool definitions of an upstream that wait to be accepted; with --hash or --all, accept them.',
  takes: ['NAME', '[TOOL]'],
  options: {
    hash: text('HASH', 'accept the definition of TOOL with this hash'),
    all: flag('accept all definitions that are offered now'),
  },
  async run(client, input, output) {
    const [name = '', tool] = input.args
    const hash = input.text('hash')
    const isAll = input.flag('all')
    if (hash !== undefined && tool === undefined) throw input.usageError('--hash needs TOOL.')
    if (isAll && (hash !== undefined || tool !== undefined))
      throw input.usageError('--all takes neither TOOL nor --hash.')
    if (hash !== undefined && tool !== undefined) {
      const accepted = await client.call('acceptUpstreamTool', { name, tool, hash })
      return output.result(accepted, () => output.print(`${tool} is accepted: ${accepted.status}`))
    }
    const { catalogue } = await client.call('getUpstream', { name })
    const waiting = catalogue.filter(
      ({ status, tool: each }) => status === 'quarantined' && each === (tool ?? each),
    )
    if (tool !== undefined && waiting.length === 0) {
      throw new CliError(EXIT.notFound, `No definition of ${tool} waits to be accepted.`)
    }
    if (isAll) {
      for (const each of waiting)
        await client.call('acceptUpstreamTool', { name, tool: each.tool, hash: each.hash ?? '' })
    }
    output.result({ [isAll ? 'accepted' : 'waiting']: waiting }, () => {
      if (waiting.length === 0) output.print('Nothing waits to be accepted.')
      for (const each of waiting) {
        if (isAll) output.print(`${each.tool} is accepted`)
        else printOffer(output, name, each)
      }
    })
  },
})

type Upstream = ListUpstreamsAnswer['upstreams'][number]
type Tool = GetUpstreamAnswer['catalogue'][number]

/** Prints two versions of a definition as JSON with hidden characters escaped. */
function printOffer(output: Output, name: string, { tool, reason, hash, offered, accepted }: Tool): void {
  output.print(`${tool}: ${reason}`)
  if (accepted !== null) output.print(`accepted before:\n${visibleJson(accepted)}`)
  if (offered !== null) output.print(`offered now:\n${visibleJson(offered)}`)
  output.print(`To accept it: asyncgate upstreams accept ${name} ${quoted(tool)} --hash ${hash}`)
  output.print()
}

/** Quotes a name for a shell: the upstream chose it, and it must not become a command. */
function quoted(word: string): string {
  return /^\w[\w.-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function addressOf({ transport }: Upstream): string {
  return transport.type === 'http' ? transport.url : transport.command
}

function printUpstream(output: Output, upstream: Upstream): void {
  const { health, transport, isolation, tools, offers } = upstream
  const { prompts, resources, resource_templates: templates } = offers
  const headers = Object.entries(transport.type === 'http' ? transport.headers : {})
  const retries = Object.entries(tools.retry).map(([tool, mode]) => `${tool}: ${mode}`)
  output.details([
    ['upstream', `${upstream.name} (${upstream.source})`],
    ['at', addressOf(upstream)],
    ...headers.map(([name, value]) => ['header', `${name}: ${value}`] as const),
    ['state', `${health.state} since ${health.since}`],
    ['server', [health.server, health.protocol_version].filter((part) => part !== null).join(', MCP ')],
    ['breaker', health.breaker],
    ['calls', `${health.running} running, ${health.waiting} waiting, ${upstream.concurrency} concurrent`],
    ['limits', `${upstream.timeout_ms} ms, ${upstream.max_result_bytes} bytes`],
    [
      'offers',
      prompts + resources + templates === 0
        ? ''
        : `${prompts} prompts, ${resources} resources, ${templates} resource templates`,
    ],
    [
      'isolation',
      isolation === 'shared'
        ? 'shared: all sessions use one connection'
        : `${isolation}: ${health.sessions} of at most ${upstream.max_session_connections} session connections`,
    ],
    ['restarts', health.restarts],
    ['pinned', upstream.pinned],
    ['retry', [upstream.retry, ...retries].join(', ')],
    ['error', health.last_error && `${health.last_error.at}: ${health.last_error.message}`],
  ])
}

export const commands = [list, show, add, remove, accept]
