import { duplexPair, PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { Relay } from '../../src/cli/commands/gateway/relay.ts'
import { until } from '../gateway/calls/support.ts'

type Message = Readonly<Record<string, unknown>>

/** Returns the lines of a stream that have arrived so far. */
function linesOf(stream: NodeJS.ReadableStream) {
  let text = ''
  stream.on('data', (chunk) => {
    text += String(chunk)
  })
  return () => text.split('\n').filter((line) => line !== '')
}

function relay() {
  const input = new PassThrough()
  const output = new PassThrough()
  const heard = linesOf(output)
  const carried = new Relay({ input, output, mayRepeat: (tool, isSame) => tool === 'repeat' && isSame })
  return {
    input,
    say: (message: Message | string) =>
      input.write(
        `${typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })}\n`,
      ),
    heard: () => heard().map((line) => JSON.parse(line)),
    raw: heard,
    /** Connects the relay to a new gateway. */
    connect(isSameDatabase = true) {
      const [here, there] = duplexPair({ allowHalfOpen: false })
      const lines = linesOf(there)
      const over = carried.over(here, isSameDatabase)
      return {
        over,
        lines,
        methods: () => lines().map((line) => JSON.parse(line.slice(line.indexOf(' '))).method ?? 'an answer'),
        answer: (message: Message) => there.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
        async end() {
          there.end()
          await over
        },
      }
    },
  }
}

const initialize = { id: 0, method: 'initialize', params: { clientInfo: { name: 'test' } } }
const initialized = { method: 'notifications/initialized' }
const call = (id: number, name: string) => ({ id, method: 'tools/call', params: { name } })

it('the relay repeats the handshake of the client with the next gateway', async () => {
  const { say, heard, connect } = relay()
  const first = connect()
  say(initialize)
  await until(() => first.lines().length === 1)
  first.answer({ id: 0, result: {} })
  say(initialized)
  await until(() => heard().length === 1 && first.lines().length === 2)
  await first.end()
  const second = connect()
  await until(() => second.lines().length === 2)
  expect(second.lines()).toEqual(first.lines())
  second.answer({ id: 0, result: { again: true } })
  say({ id: 1, method: 'ping' })
  await until(() => second.lines().length === 3)
  second.answer({ id: 1, result: {} })
  await until(() => heard().length === 2)
  expect(heard()).toEqual([
    { jsonrpc: '2.0', id: 0, result: {} },
    { jsonrpc: '2.0', id: 1, result: {} },
  ])
})

it('the relay repeats open requests under their ids, and fails those that must not be repeated', async () => {
  const { say, heard, connect } = relay()
  const first = connect()
  for (const message of [
    call(1, 'repeat'),
    call(2, 'once'),
    { id: 3, method: 'tools/list' },
    call(4, 'repeat'),
    call(5, 'repeat'),
  ])
    say(message)
  await until(() => first.lines().length === 5)
  first.answer({ id: 4, result: {} })
  say({ method: 'notifications/cancelled', params: { requestId: 5 } })
  await until(() => heard().length === 1 && first.lines().length === 6)
  await first.end()
  const second = connect()
  await until(() => second.lines().length === 2 && heard().length === 2)
  expect(second.lines()).toEqual([first.lines()[0], first.lines()[2]])
  expect(heard()[1]).toMatchObject({ id: 2, error: { code: -32_000 } })
  await second.end()
  const third = connect(false)
  await until(() => heard().length === 3 && third.lines().length === 1)
  expect(heard()[2]).toMatchObject({ id: 1, error: { message: expect.stringContaining('may have been') } })
  expect(third.methods()).toEqual(['tools/list'])
})

it('the relay buffers messages of the client between two gateways', async () => {
  const { say, connect } = relay()
  const first = connect()
  say({ id: 1, method: 'ping' })
  await until(() => first.lines().length === 1)
  first.answer({ id: 1, result: {} })
  await first.end()
  say({ id: 2, method: 'ping' })
  const second = connect()
  await until(() => second.lines().length === 1)
  expect(second.lines()[0]).toContain('"id":2')
})

it('the relay passes on lines of any size, and lines that are not messages', async () => {
  const { say, raw, connect } = relay()
  const { lines, answer } = connect()
  const text = 'x'.repeat(3_000_000)
  say('this is no message')
  say({ id: 1, method: 'ping', params: { text } })
  await until(() => lines().length === 2)
  expect(lines()[0]).toBe('1 this is no message')
  expect(lines()[1]).toHaveLength(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { text } }).length + 2,
  )
  answer({ id: 1, result: { text } })
  await until(() => raw().length === 1)
  expect(raw()[0]).toContain(text)
})

it('the relay ends when the client disconnects', async () => {
  const { input, connect } = relay()
  const { over } = connect()
  input.end()
  await over
})
