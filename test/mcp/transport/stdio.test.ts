import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { bareCall, modernPost } from '../endpoint.ts'

const script = fileURLToPath(new URL('stdio-child.ts', import.meta.url))
const Reply = z.strictObject({ jsonrpc: z.literal('2.0'), id: z.number(), result: z.looseObject({}) })

it.each([
  ['the modern era', [modernPost('server/discover', {}, {}, 1), modernPost('tools/list', {}, {}, 2)]],
  ['no handshake', [bareCall('asyncgate.health', {}, 1), bareCall('asyncgate.get_config', {}, 2)]],
])('over stdio in %s, stdout contains only responses', async (_, requests) => {
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

const Outcome = z.looseObject({
  id: z.number().nullable(),
  result: z
    .looseObject({ isError: z.boolean().optional(), structuredContent: z.looseObject({}).optional() })
    .optional(),
  error: z.looseObject({ code: z.number(), data: z.looseObject({}).optional() }).optional(),
})

/** The responses of a stdio server to these lines, one each. */
async function answersTo(lines: readonly string[]): Promise<z.infer<typeof Outcome>[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const answers: z.infer<typeof Outcome>[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    answers.push(...parts.map((line) => Outcome.parse(JSON.parse(line))))
    if (answers.length === lines.length) child.stdin.end()
  })
  for (const line of lines) child.stdin.write(`${line}\n`)
  await once(child, 'close')
  return answers
}

const FLAWS: readonly [string, string][] = [
  ['a key twice', '{"type":"a","type":"b"}'],
  ['an integer that loses digits', '{"type":"a","payload":9007199254740993}'],
  ['a NUL', '{"type":"a\\u0000"}'],
  ['a lone surrogate', '{"type":"a\\ud800"}'],
  ['the key __proto__', '{"type":"a","payload":{"__proto__":1}}'],
  ['1,000 levels', `{"type":"a","payload":${'['.repeat(1_000)}${']'.repeat(1_000)}}`],
]

it.each([
  [
    '2026-07-28',
    (id: number) => modernPost('tools/call', { name: 'asyncgate.create_task', arguments: {} }, {}, id),
  ],
  ['the older revisions', (id: number) => bareCall('asyncgate.create_task', {}, id)],
])('stdio refuses the same invalid calls as HTTP, in %s', async (_, call) => {
  const lines = FLAWS.map(([, args], i) =>
    JSON.stringify(call(i + 1).body).replace('"arguments":{}', `"arguments":${args}`),
  )
  const answers = await answersTo([
    ...lines,
    JSON.stringify(call(99).body).replace('"arguments":{}', '"arguments":{"type":"ok"}'),
  ])
  for (const [i, [name]] of FLAWS.entries()) {
    const answer = answers.find(({ id }) => id === i + 1)
    expect(answer?.result, name).toMatchObject({
      isError: true,
      structuredContent: { code: 'VALIDATION_ERROR' },
    })
  }
  const good = answers.find(({ id }) => id === 99)
  expect(good?.result?.structuredContent).toMatchObject({ status: 'queued' })
})

it('stdio answers other invalid messages with a JSON-RPC error', async () => {
  const answers = await answersTo([
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/list"}',
    `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  ])
  expect(answers).toMatchObject([
    { id: 1, error: { code: -32600, data: { code: 'VALIDATION_ERROR' } } },
    { id: null, error: { code: -32600, data: { code: 'VALIDATION_ERROR' } } },
  ])
})
