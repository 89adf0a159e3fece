import { appendFileSync, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'

/**
 * A stateful MCP server: `count` returns how often it was called, `slow` waits for a file. It starts quickly because
 * tests start many. COUNTER_LOG is the file for its events.
 */
const { COUNTER_LOG: log } = process.env
const tell = (event) => log && appendFileSync(log, `${event}\n`)
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const text = (words) => ({ content: [{ type: 'text', text: String(words) }] })
const object = (properties = {}) => ({ type: 'object', properties })

const TOOLS = [
  { name: 'count', description: 'Counts.', inputSchema: object() },
  {
    name: 'slow',
    description: 'Waits for a file.',
    inputSchema: object({ file: { type: 'string' } }),
    annotations: { readOnlyHint: true, idempotentHint: true },
  },
  { name: 'crash', description: 'Ends the program.', inputSchema: object() },
]

let count = 0

function slow(file) {
  tell(`slow ${process.pid}`)
  return new Promise((resolve) => {
    const look = () => (existsSync(file) ? resolve(text('done')) : setTimeout(look, 20))
    look()
  })
}

const RUNS = {
  count: () => text(++count),
  slow: ({ file }) => slow(file),
  crash: () => process.exit(7),
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'counter', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ name, arguments: args = {} }) => RUNS[name](args),
}

tell(`start ${process.pid}`)
const lines = createInterface({ input: process.stdin })
lines.on('line', async (line) => {
  const { id, method, params = {} } = JSON.parse(line)
  if (method === 'notifications/cancelled') tell(`canceled ${process.pid}`)
  if (id === undefined) return
  const run = METHODS[method]
  if (run === undefined) say({ id, error: { code: -32601, message: 'Method not found' } })
  else say({ id, result: await run(params) })
})
lines.on('close', () => {
  tell(`end ${process.pid}`)
  process.exit()
})
