import { PassThrough } from 'node:stream'
import { z } from 'zod'
import { callerOf } from '../../src/auth/caller.ts'
import { Authenticator, type Credential } from '../../src/auth/credential.ts'
import { ERRORS, Fault } from '../../src/core/errors.ts'
import { parseJson } from '../../src/core/json/text.ts'
import type { Operation } from '../../src/features/define-operation.ts'
import { serveStdioMcp } from '../../src/mcp/transport/stdio.ts'
import { bareCall, META, modernPost, type Post } from '../mcp/endpoint.ts'
import { AUTH_MODES, type AuthMode, asCaller, authSettings, type Fields } from '../support/auth-modes.ts'
import { PROGRAM, PROGRAM_LISTING } from '../support/program.ts'
import { callersOf } from './callers.ts'
import { type Received, restRequest, type Sent, serveHttp } from './http.ts'
import type { JsonFields } from './step.ts'
import type { World } from './world.ts'

/** The outcome of a call: a result, or the body of an error without its request_id, which always differs. */
export type Outcome = { readonly answer: unknown } | { readonly error: unknown }

export interface Transport {
  /** `oneServer`: the call goes to the first server even if there are several. */
  call(operation: Operation, input: JsonFields, oneServer?: boolean): Promise<Outcome>
  close(): Promise<void>
}

export type Connect = (world: World) => Promise<Transport>

export const TRANSPORTS: Readonly<Record<string, Connect>> = {
  ...inEachMode('REST', overRest),
  ...inEachMode('MCP 2026-07-28', (world, mode) => overMcp(world, mode, modernCall)),
  ...inEachMode('MCP 2025-11-25', (world, mode) => overMcp(world, mode, olderCall, HANDSHAKE)),
  'MCP 2026-07-28 over stdio': (world) => overStdio(world, modernCall),
  'MCP 2025-11-25 over stdio': (world) => overStdio(world, (name, input) => bareCall(name, input), HANDSHAKE),
}

/** The reference for the others: the operation itself with a given caller, under the rules for any JSON text. */
export async function onTheGate({ gate }: World): Promise<Transport> {
  return {
    async call(operation, fields) {
      try {
        parseJson(JSON.stringify(fields))
        const { credential, rest } = await proven(fields)
        const { caller, input } = callerOf(credential, operation, rest)
        const answer = await gate.call(operation, caller, input)
        return { answer: JSON.parse(JSON.stringify(answer)) }
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        const { required_role, your_role } = error.details
        return {
          error: { ...error.toJSON(), ...(required_role !== undefined && { required_role, your_role }) },
        }
      }
    },
    close: async () => {},
  }
}

const authenticator = new Authenticator(authSettings('insecure development'))

/** The credential of the caller that these fields name, and the other fields. */
async function proven(input: Fields): Promise<{ credential: Credential; rest: Fields }> {
  const { headers, fields } = asCaller('insecure development', input)
  return { credential: await authenticator.authenticate(headers), rest: fields }
}

async function overRest(world: World, mode: AuthMode): Promise<Transport> {
  const server = await serveAll(world, mode)
  const callers = await callersOf(world, mode)
  return {
    async call(operation, input, oneServer) {
      const { headers, fields } = await callers.request(input, operation)
      const { status, body } = await server.send({ ...restRequest(operation, fields), headers }, oneServer)
      if (status === 200) return { answer: callers.visible(body) }
      const { request_id, ...error } = HttpError.parse(body)
      if (status !== ERRORS[error.code].http) throw new Error(`${error.code} came with status ${status}`)
      return { error }
    },
    close: server.close,
  }
}

const codes = z.custom<keyof typeof ERRORS>((code) => typeof code === 'string' && code in ERRORS)
const HttpError = z.looseObject({ code: codes, request_id: z.string() })

type MakeCall = (name: string, input: Fields) => Post

interface Servers {
  send(sent: Sent, oneServer?: boolean): Promise<Received>
  close(): Promise<void>
}

/** A server for each gate of the world. Requests alternate between them. */
async function serveAll({ gates, errors }: World, mode: AuthMode): Promise<Servers> {
  const servers = await Promise.all(gates.map((gate) => serveHttp(gate, mode, (error) => errors.push(error))))
  let turn = 0
  return {
    async send(sent, oneServer = false) {
      const server = servers[oneServer ? 0 : turn++ % servers.length]
      if (server === undefined) throw new Error('no server')
      return server.send(sent)
    },
    async close() {
      for (const server of servers) await server.close()
    },
  }
}

function inEachMode(
  protocol: string,
  connect: (world: World, mode: AuthMode) => Promise<Transport>,
): Record<string, Connect> {
  return Object.fromEntries(
    AUTH_MODES.map((mode) => [`${protocol}, ${mode}`, (world: World) => connect(world, mode)]),
  )
}

async function overMcp(
  world: World,
  mode: AuthMode,
  make: MakeCall,
  before: readonly Post[] = [],
): Promise<Transport> {
  const server = await serveAll(world, mode)
  const post = async ({ body, headers = {} }: Post, oneServer?: boolean) => {
    const sent = { method: 'POST', path: `/mcp${PROGRAM}`, body: JSON.stringify(body), headers }
    return server.send(
      { ...sent, headers: { accept: 'application/json, text/event-stream', ...headers } },
      oneServer,
    )
  }
  const callers = await callersOf(world, mode)
  const { headers } = await callers.request({})
  for (const message of before) await post({ ...message, headers: { ...message.headers, ...headers } })
  return {
    async call(operation, input, oneServer) {
      const { headers, fields } = await callers.request(input, operation)
      const message = make(`asyncgate.${operation.name}`, fields)
      const { status, body } = await post(
        { ...message, headers: { ...message.headers, ...headers } },
        oneServer,
      )
      if (status !== 200) throw new Error(`the call came back with status ${status}: ${JSON.stringify(body)}`)
      const outcome = toolOutcome(body)
      if ('answer' in outcome) return { answer: callers.visible(outcome.answer) }
      const { request_id, ...error } = HttpError.parse(outcome.error)
      return { error }
    },
    close: server.close,
  }
}

/** A client without a name is the operator, as over REST. */
const NAMELESS = { name: '', version: '1' }

function modernCall(name: string, input: Fields): Post {
  const _meta = { ...META, 'io.modelcontextprotocol/clientInfo': NAMELESS }
  return modernPost('tools/call', { _meta, name, arguments: input }, { 'mcp-name': name })
}

const VERSION = { 'mcp-protocol-version': '2025-11-25' }
const HANDSHAKE: readonly Post[] = [
  {
    body: {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: NAMELESS },
    },
  },
  { body: { jsonrpc: '2.0', method: 'notifications/initialized' }, headers: VERSION },
]

function olderCall(name: string, input: Fields): Post {
  return { ...bareCall(name, input), headers: VERSION }
}

/** A connection over stdin and stdout has one credential, so each person has a separate connection. */
async function overStdio(world: World, make: MakeCall, before: readonly Post[] = []): Promise<Transport> {
  const open = new Map<Credential, Promise<StdioConnection>>()
  return {
    async call(operation, input) {
      const { credential, rest } = await proven(input)
      const connection = open.get(credential) ?? connectStdio(world, credential, before)
      open.set(credential, connection)
      return toolOutcome(await (await connection).send(make(`asyncgate.${operation.name}`, rest).body))
    },
    async close() {
      for (const connection of open.values()) await (await connection).close()
    },
  }
}

interface StdioConnection {
  send(body: unknown): Promise<unknown>
  close(): Promise<void>
}

async function connectStdio(
  { gate, errors }: World,
  credential: Credential,
  before: readonly Post[],
): Promise<StdioConnection> {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const streams = { input: stdin, output: stdout }
  const handle = serveStdioMcp(gate, {
    listing: PROGRAM_LISTING,
    credential,
    streams,
    onError: (error) => errors.push(error),
  })
  const lines = linesOf(stdout)
  const send = async (body: unknown): Promise<unknown> => {
    stdin.write(`${JSON.stringify(body)}\n`)
    if (!isRequest(body)) return undefined
    for (;;) {
      const message: unknown = JSON.parse((await lines.next()).value ?? '')
      // The server may send notifications before it responds.
      if (isRequest(message)) return message
    }
  }
  for (const { body } of before) await send(body)
  return { send, close: () => handle.close() }
}

async function* linesOf(stream: PassThrough): AsyncGenerator<string, undefined> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  return undefined
}

function isRequest(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'id' in body
}

const ToolReply = z.looseObject({
  result: z.looseObject({
    isError: z.boolean().optional(),
    structuredContent: z.record(z.string(), z.unknown()),
    content: z.tuple([z.object({ type: z.literal('text'), text: z.string() })]),
  }),
})

/** The text content must equal the structured content, for models that read only text. */
function toolOutcome(body: unknown): Outcome {
  const { isError, structuredContent, content } = ToolReply.parse(body).result
  if (content[0].text !== JSON.stringify(structuredContent)) throw new Error('text and data differ')
  return isError ? { error: structuredContent } : { answer: structuredContent }
}
