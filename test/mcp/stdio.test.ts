import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { bareCall, modernPost } from './endpoint.ts'

const script = fileURLToPath(new URL('stdio-child.ts', import.meta.url))
const Reply = z.strictObject({ jsonrpc: z.literal('2.0'), id: z.number(), result: z.looseObject({}) })

it.each([
  ['the modern era', [modernPost('server/discover', {}, {}, 1), modernPost('tools/list', {}, {}, 2)]],
  ['no handshake', [bareCall('asyncgate.health', {}, 1), bareCall('asyncgate.get_config', {}, 2)]],
])('over stdio in %s, stdout carries answers and nothing else', async (_, requests) => {
  const child = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const answers: z.infer<typeof Reply>[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    answers.push(...lines.map((line) => Reply.parse(JSON.parse(line))))
    if (answers.length === requests.length) child.stdin.end()
  })
  for (const { body } of requests) child.stdin.write(`${JSON.stringify(body)}\n`)
  const [code] = await once(child, 'close')
  expect(code).toBe(0)
  expect(rest).toBe('')
  expect(answers.map(({ id }) => id).sort()).toEqual([1, 2])
})
