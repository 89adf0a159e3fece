import { appendFileSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

// An MCP server that writes a line for each call that it runs, before and after, so that a test can count them. With
// `crash` it ends once in the course of the call: before it runs, or after it has run and before it answers. The line of
// a cancel has its instant in nanoseconds of the monotonic clock, which all processes of a machine share.

const [, , log = ''] = process.argv
const write = (line) => appendFileSync(log, `${line}\n`)
const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)

const READS = { annotations: { readOnlyHint: true } }
const tool = (name, more = {}) => ({ name, inputSchema: { type: 'object' }, ...more })
const TOOLS = [tool('read', READS), tool('write'), tool('once', READS), tool('again')]

/** Ends the process, the first time that the call comes to this point. */
function crash(key) {
  if (readFileSync(log, 'utf8').includes(`crash ${key}\n`)) return
  write(`crash ${key}`)
  process.exit(1)
}

const keys = new Map()

function call(id, { key, ms = 0, crash: when }) {
  keys.set(id, key)
  if (when === 'before') crash(key)
  write(`run ${key}`)
  setTimeout(() => {
    write(`ran ${key}`)
    if (when === 'after') crash(key)
    answer(id, { content: [{ type: 'text', text: key }] })
  }, ms)
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    const serverInfo = { name: 'counting', version: '1' }
    answer(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo })
  } else if (method === 'tools/list') answer(id, { tools: TOOLS })
  else if (method === 'tools/call') call(id, params.arguments)
  else if (method === 'notifications/cancelled') {
    write(`canceled ${keys.get(params.requestId)} ${process.hrtime.bigint()}`)
  } else if (id !== undefined) {
    const error = { code: -32_601, message: 'Method not found' }
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
  }
}
