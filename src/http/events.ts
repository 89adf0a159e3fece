import type { Fields } from '../auth/caller.ts'
import { schemaOf } from '../features/define-operation.ts'
import { changeShape, followInput } from '../features/tasks/follow.ts'
import { admit, type Context, identify } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import { EventStream } from './event-stream.ts'
import type { Exchange } from './exchange.ts'
import { collectFields } from './fields.ts'

const HEARTBEAT_MS = 15_000

const NO_TYPES = new Map()

const eventStream = { mediaTypes: { 'text/event-stream': schemaOf(changeShape, 'output') } }

export const eventsEndpoint: Endpoint = {
  name: 'events',
  tag: 'tasks',
  title: 'Stream task changes as they commit',
  description:
    'Server-sent events of type task. Under a shared key a stream with worker_id alone belongs to that worker: it carries status canceled as soon as a task that the worker holds is canceled.',
  method: 'GET',
  path: '/v1/events',
  parameters: followInput,
  responses: { 200: { description: 'Each data line', content: eventStream } },
  errors: [400, 401, 403, 404, 503],
  handle: (context, exchange) => context.streams.serve(context, exchange),
}

/** Streams of task changes. */
export class EventStreams {
  readonly #open = new Set<EventStream>()
  #heartbeat: NodeJS.Timeout | undefined

  get count(): number {
    return this.#open.size
  }

  /** Ends every stream. */
  stop(): void {
    clearInterval(this.#heartbeat)
    for (const stream of this.#open) stream.end()
  }

  async serve(context: Context, exchange: Exchange): Promise<void> {
    const { response } = exchange
    const credential = admit(context, exchange)
    const fields = collectFields(NO_TYPES, {}, exchange.query, {})
    const called = { actor: actorOf(fields), input: followInput }
    const { caller, input } = identify(exchange, credential, called, fields)
    const stream = new EventStream(exchange)
    const unfollow = await context.gate.follow(caller, input, (change) => {
      stream.push(`event: task\ndata: ${JSON.stringify(change)}\n\n`)
    })
    response.once('close', () => {
      unfollow()
      this.#open.delete(stream)
    })
    if (response.destroyed) return unfollow()
    this.#open.add(stream)
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref()
    stream.push(': connected\n\n')
  }

  #beat(): void {
    for (const stream of this.#open) stream.push(': still here\n\n')
  }
}

/** Under a shared key a stream that names only a worker is that worker's. */
function actorOf(fields: Fields): 'worker' | 'anyone' {
  const namesAnother = fields.principal_id !== undefined || fields.agent_id !== undefined
  return fields.worker_id !== undefined && !namesAnother ? 'worker' : 'anyone'
}
