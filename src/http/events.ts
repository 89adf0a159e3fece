import type { Fields } from '../auth/caller.ts'
import { schemaOf } from '../features/define-operation.ts'
import { changeShape, followInput } from '../features/tasks/follow.ts'
import { admit, endWithKey, identify } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import { collectFields } from './fields.ts'

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
  async handle(context, exchange) {
    const { response } = exchange
    const credential = await admit(context, exchange)
    const fields = collectFields(new Map(), {}, exchange.query, {})
    const called = { actor: actorOf(fields), input: followInput }
    const { caller, input } = identify(exchange, credential, called, fields)
    await context.gate.rateLimits.count(caller, 'events')
    response.setHeader('X-Request-Id', exchange.id)
    endWithKey(context, response, credential)
    await context.streams.serve(response, ': connected\n\n', (stream) =>
      context.gate.follow(caller, input, (change) => {
        stream.push(`event: task\ndata: ${JSON.stringify(change)}\n\n`)
      }),
    )
  },
}

/** Under a shared key a stream that names only a worker belongs to that worker. */
function actorOf(fields: Fields): 'worker' | 'anyone' {
  const namesAnother = fields.principal_id !== undefined || fields.agent_id !== undefined
  return fields.worker_id !== undefined && !namesAnother ? 'worker' : 'anyone'
}
