// A minimal MCP server over stdio with one trivial tool.
import { createInterface } from 'node:readline'

const TOOL = {
  name: 'echo',
  description: 'Gives back the number.',
  inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  annotations: { readOnlyHint: true },
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [TOOL] }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: String(params.arguments.n) }] }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line)
  if (id === undefined) continue
  const answer = METHODS[method]
  const outcome =
    answer === undefined
      ? { error: { code: -32_601, message: 'Method not found' } }
      : { result: answer(params) }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`)
}
