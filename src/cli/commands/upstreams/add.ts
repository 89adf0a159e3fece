import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { upstreamShape } from './upstreams.ts'

export const upstreamsAdd = command({
  name: 'upstreams add',
  summary: 'Put an MCP server that speaks streamable HTTP behind the gate, or change it.',
  takes: ['NAME', 'URL'],
  options: {
    header: {
      type: 'string',
      multiple: true,
      value: 'NAME=REFERENCE',
      doc: 'a header and where the server finds its value, as in Authorization="Bearer env:TOKEN"',
    },
    allow: {
      type: 'string',
      multiple: true,
      value: 'TOOL',
      doc: 'only this tool; * is any text',
    },
    deny: { type: 'string', multiple: true, value: 'TOOL', doc: 'not this tool' },
    category: {
      type: 'string',
      multiple: true,
      value: 'TOOL=CATEGORY',
      doc: 'the category of a tool, for policies',
    },
    pinned: {
      type: 'string',
      value: 'MODE',
      doc: 'whose definitions need no admin: first_use (default), each_tool or strict',
    },
    retry: {
      type: 'string',
      value: 'MODE',
      doc: 'repeat calls that may have reached the tool: never, idempotent (if the tool says that it is; default) or always',
    },
    'tool-retry': {
      type: 'string',
      multiple: true,
      value: 'TOOL=MODE',
      doc: 'the same for one tool; * is any text',
    },
    timeout: { type: 'string', value: 'MS', doc: 'longest that a call may take; default 300000' },
    concurrency: { type: 'string', value: 'N', doc: 'calls at once; default 8' },
    isolation: {
      type: 'string',
      value: 'MODE',
      doc: 'shared (default): all sessions use one connection; per_session: each has its own',
    },
    'max-sessions': {
      type: 'string',
      value: 'N',
      doc: 'sessions that may have a connection at once, with per_session; default 32',
    },
    'max-result': { type: 'string', value: 'BYTES', doc: 'largest answer; default 8388608' },
    disabled: { type: 'boolean', doc: 'do not connect to it for now' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const [name, url, allow] = [input.word(0), input.word(1), input.texts('allow')]
    const added = await clientOf(input).post(
      '/v1/upstreams',
      {
        name,
        transport: { type: 'http', url, headers: input.pairs('header') },
        tools: {
          allow: allow.length > 0 ? allow : undefined,
          deny: input.texts('deny'),
          retry: input.pairs('tool-retry'),
        },
        categories: input.pairs('category'),
        pinned: input.text('pinned'),
        retry: input.text('retry'),
        timeout_ms: input.whole('timeout'),
        concurrency: input.whole('concurrency'),
        isolation: input.text('isolation'),
        max_session_connections: input.whole('max-sessions'),
        max_result_bytes: input.whole('max-result'),
        enabled: !input.flag('disabled'),
      },
      upstreamShape,
    )
    output.answer(added, () => {
      output.say(`${name} is there. "asyncgate upstreams show ${name}" tells whether it was reached.`)
    })
    return undefined
  },
})
