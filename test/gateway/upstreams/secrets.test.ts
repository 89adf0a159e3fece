import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { secretFinder } from '../../../src/gateway/upstreams/credentials.ts'
import { folder, installed, open, record } from './support.ts'

const KEY = 'q5Vd0nX_2mT-7kLwRz9sYbEa'

describe('approval keys in responses', () => {
  const holds = secretFinder([KEY])

  it('the key is found in values and in property names', () => {
    expect(holds({ content: [{ type: 'text', text: `the key: ${KEY}\n` }] })).toBe(true)
    expect(holds({ structuredContent: { nested: [{ [KEY]: 1 }] } })).toBe(true)
  })

  it.each([0, 1, 2, 3, 4, 5])('the key is found in base64 at an offset of %i bytes', (offset) => {
    const data = Buffer.from(`${'x'.repeat(offset)}${KEY}\nand more`).toString('base64')
    expect(holds({ content: [{ type: 'blob', data }] })).toBe(true)
  })

  it('other texts do not match', () => {
    expect(holds({ content: [{ type: 'text', text: KEY.slice(1) }] })).toBe(false)
    expect(holds(null)).toBe(false)
    expect(secretFinder([])({ text: KEY })).toBe(false)
    expect(secretFinder([''])({ text: KEY })).toBe(false)
  })
})

it('a response that contains the key is withheld, and a warning is logged', async () => {
  const place = folder()
  writeFileSync(join(place, 'key'), KEY)
  writeFileSync(join(place, 'other'), 'hello')
  const { upstreams, log } = await open([installed('server-filesystem', [place])], { secrets: [KEY] })
  const read = (tool: string, name: string) => upstreams.call('filesystem', tool, { path: join(place, name) })
  for (const tool of ['read_text_file', 'read_media_file']) {
    const refused = await read(tool, 'key').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'UPSTREAM_REFUSED' })
    expect(JSON.stringify(refused)).not.toContain(KEY)
  }
  expect(await read('read_text_file', 'other')).toMatchObject({ content: [{ text: 'hello' }] })
  expect(log.filter(({ message }) => message.includes('approval key'))).toHaveLength(2)
})

/** An MCP server whose only tool reveals the key in its progress and in the message of an error. */
const TELLS_KEY = `
  const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize')
      say({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } })
    else if (method === 'tools/list')
      say({ id, result: { tools: [{ name: 'tell', inputSchema: { type: 'object' } }] } })
    else if (method === 'tools/call') {
      const { progressToken } = params._meta
      say({ method: 'notifications/progress', params: { progressToken, progress: 1, message: 'found ${KEY} here' } })
      say({ id, error: { code: -32000, message: 'cannot use ${KEY}' } })
    } else if (id !== undefined) say({ id, error: { code: -32601, message: 'Method not found' } })
  })
`

it('the key is removed from the errors and the progress of an upstream', async () => {
  const transport = { type: 'stdio', command: process.execPath, args: ['-e', TELLS_KEY] }
  const { upstreams } = await open([record({ transport })], { secrets: [KEY] })
  const progress: object[] = []
  const onProgress = (step: object) => void progress.push(step)
  const error: unknown = await upstreams.call('fix', 'tell', {}, { onProgress }).catch((reason) => reason)
  expect(error).toMatchObject({ details: { upstream_message: 'cannot use ***' } })
  expect(progress).toEqual([{ progress: 1, message: 'found *** here' }])
  expect(JSON.stringify(upstreams.get('fix'))).not.toContain(KEY)
})
