import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { lstatSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Database } from '../../../config/database.ts'
import type { UpstreamRecord } from '../../../features/upstreams/shape.ts'

/** The path of a socket has at most 107 bytes on Linux, and 103 on macOS. */
const MAX_PATH_BYTES = 100
/** Limit of the first line in each direction. */
const MAX_HELLO_BYTES = 256 * 1024
/** A running gateway responds immediately, at least with the status `starting`. */
const ANSWER_MS = 5_000

const PROTOCOL = 1

/** What a gateway serves. Only processes that want the same can share it. */
const servesShape = z.object({
  name: z.string(),
  command: z.array(z.string()),
  folder: z.string(),
  /** Digests of the variables that the program is given. */
  variables: z.record(z.string(), z.string()),
  allow: z.string(),
  isolation: z.string(),
})
export type Serves = z.output<typeof servesShape>

export const helloShape = z.object({
  protocol: z.literal(PROTOCOL),
  /** Identifies the client across gateways. */
  client: z.string().min(1).max(100),
  serves: servesShape,
})
export type Hello = z.output<typeof helloShape>

const answerShape = z.discriminatedUnion('status', [
  z.object({ status: z.literal('starting'), pid: z.int() }),
  z.object({
    status: z.literal('joined'),
    pid: z.int(),
    url: z.string(),
    /** Gateways with the same database know each other's calls. */
    database: z.string(),
  }),
  /** The gateway serves something else, or its program did not start. */
  z.object({ status: z.enum(['different', 'failed']), pid: z.int(), url: z.string(), message: z.string() }),
])
export type Answer = z.output<typeof answerShape>

export type Joined = Extract<Answer, { status: 'joined' }> & { readonly socket: Socket }
export type Refused = Exclude<Answer, { status: 'starting' | 'joined' }>

export function helloOf(client: string, serves: Serves): Hello {
  return { protocol: PROTOCOL, client, serves }
}

export function servesOf(
  { name, transport, isolation }: UpstreamRecord,
  words: readonly string[],
  allow: string,
  env: NodeJS.ProcessEnv,
): Serves {
  const names = transport.type === 'stdio' ? Object.keys(transport.env) : []
  const digest = (variable: string) =>
    createHash('sha256')
      .update(env[variable] ?? '')
      .digest('hex')
  const variables = Object.fromEntries(names.map((variable) => [variable, digest(variable)]))
  return { name, command: [...words], folder: process.cwd(), variables, allow, isolation }
}

/** Describes the difference between two gateways of the same name; undefined if there is none. */
export function difference(running: Serves, wanted: Serves): string | undefined {
  const shown = ({ command }: Serves) => command.join(' ')
  if (!isDeepStrictEqual(running.command, wanted.command))
    return `it runs "${shown(running)}", and this one would run "${shown(wanted)}"`
  if (running.folder !== wanted.folder) return `it runs in ${running.folder}`
  if (running.allow !== wanted.allow) return `it was started with --allow ${running.allow}`
  if (running.isolation !== wanted.isolation) return `it was started with --isolation ${running.isolation}`
  if (!isDeepStrictEqual(running.variables, wanted.variables))
    return 'its program has other variables, or other values of them (--env)'
  return isDeepStrictEqual(running, wanted) ? undefined : 'it was started with other options'
}

/**
 * The socket by which other processes join the gateway of this database: beside the database, or in /tmp if the path
 * would be too long. Undefined for a database that several servers can share, and for one in memory.
 */
export function socketPath(database: Database): string | undefined {
  if (database.kind !== 'sqlite' || database.path.startsWith(':')) return undefined
  const beside = `${resolve(database.path).replace(/\.db$/, '')}.sock`
  if (Buffer.byteLength(beside) <= MAX_PATH_BYTES) return beside
  const digest = createHash('sha256').update(beside).digest('hex').slice(0, 24)
  return join('/tmp', `asyncgate-${digest}.sock`)
}

/** Asks the gateway at a socket to serve this client. Undefined if there is none, or it ends before it responds. */
export async function joinGateway(
  path: string,
  hello: Hello,
  starting: (pid: number) => void,
): Promise<Joined | Refused | undefined> {
  if (!isTrusted(path)) return undefined
  const socket = connect(path)
  // Errors are followed by a close event.
  socket.on('error', () => {})
  const silent = setTimeout(() => socket.destroy(), ANSWER_MS)
  try {
    await Promise.race([once(socket, 'connect'), ended(socket)])
    socket.write(`${JSON.stringify(hello)}\n`)
    for (;;) {
      const line = await firstLine(socket)
      clearTimeout(silent)
      const answer = parseLine(line, answerShape)
      if (answer === undefined) break
      if (answer.status === 'joined') return { ...answer, socket }
      if (answer.status !== 'starting') {
        socket.destroy()
        return answer
      }
      starting(answer.pid)
    }
  } catch {
    // No process listens there.
  } finally {
    clearTimeout(silent)
  }
  socket.destroy()
  return undefined
}

/** A socket in a folder that others can write to must belong to this user. */
function isTrusted(path: string): boolean {
  try {
    const { uid } = lstatSync(path)
    return dirname(path) !== '/tmp' || uid === process.getuid?.()
  } catch {
    return false
  }
}

/** The value of a line of JSON; undefined if there is no line or it has another shape. */
export function parseLine<Shape extends z.ZodType>(
  line: string | undefined,
  shape: Shape,
): z.output<Shape> | undefined {
  try {
    return line === undefined ? undefined : shape.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}

/** The next line; the data after it stays in the socket. Undefined if the socket ends first. */
export async function firstLine(socket: Socket): Promise<string | undefined> {
  let read = Buffer.alloc(0)
  while (read.length <= MAX_HELLO_BYTES) {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) {
      if (socket.destroyed || socket.readableEnded) return undefined
      await Promise.race([once(socket, 'readable'), ended(socket)])
      continue
    }
    read = Buffer.concat([read, chunk])
    const end = read.indexOf('\n')
    if (end < 0) continue
    if (end + 1 < read.length) socket.unshift(read.subarray(end + 1))
    return read.toString('utf8', 0, end)
  }
  return undefined
}

function ended(socket: Socket): Promise<void> {
  if (socket.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
    socket.once('end', () => resolve())
  })
}
