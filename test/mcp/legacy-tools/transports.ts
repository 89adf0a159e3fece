import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Gate } from '../../../src/features/gate.ts'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'
import { bareCall, contentOf, modernCall, type Options, type Post, startMcp } from '../endpoint.ts'

type Fields = Readonly<Record<string, unknown>>

export interface Transport {
  readonly gate: Gate
  /** The result of the tool; an error is a result with a code. */
  call(name: string, args?: object): Promise<Fields>
  /** The names of the listed tools. */
  list(): Promise<string[]>
}

const legacyHeaders = { 'mcp-protocol-version': '2025-11-25', accept: 'application/json, text/event-stream' }
const Listed = z.array(z.looseObject({ name: z.string() }))
const Reply = z.looseObject({
  result: z.looseObject({ structuredContent: z.record(z.string(), z.unknown()) }),
})

/** Every transport and revision through which the tools can be called. */
export const TRANSPORTS: Readonly<Record<string, (options: Options) => Promise<Transport>>> = {
  '2026-07-28': (options) => overHttp(options, (name, args) => modernCall(name, args)),
  '2026-07-28 through the SDK': (options) =>
    overHttp({ ...options, fastPath: false }, (name, args) => modernCall(name, args)),
  '2025-11-25': (options) =>
    overHttp(options, (name, args) => ({ ...bareCall(name, args), headers: legacyHeaders })),
  stdio: overStdio,
}

async function overHttp(options: Options, make: (name: string, args: object) => Post): Promise<Transport> {
  const server = await startMcp({ legacyTools: true, ...options })
  return {
    gate: server.gate,
    call: async (name, args = {}) => contentOf(await server.post(make(name, args))),
    async list() {
      const { body } = await server.modern('tools/list')
      return Listed.parse(body?.result?.tools).map((tool) => tool.name)
    },
  }
}

async function overStdio(options: Options): Promise<Transport> {
  const { gate } = await startMcp(options)
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const handle = serveStdioMcp(gate, {
    listing: PROGRAM_LISTING,
    streams: { input: stdin, output: stdout },
    legacyTools: options.legacyTools ?? true,
  })
  onTestFinished(() => handle.close())
  const lines = stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  let rest = ''
  const send = async (body: unknown): Promise<unknown> => {
    stdin.write(`${JSON.stringify(body)}\n`)
    while (!rest.includes('\n')) rest += (await lines.next()).value
    const [line = '', ...more] = rest.split('\n')
    rest = more.join('\n')
    return JSON.parse(line)
  }
  return {
    gate,
    call: async (name, args = {}) =>
      Reply.parse(await send(bareCall(name, args).body)).result.structuredContent,
    async list() {
      const reply = await send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
      const { tools } = z.object({ result: z.looseObject({ tools: Listed }) }).parse(reply).result
      return tools.map((tool) => tool.name)
    },
  }
}
