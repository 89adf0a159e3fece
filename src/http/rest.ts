import type { OutgoingHttpHeaders } from 'node:http'
import { mayTakeTime, type Operation } from '../features/define-operation.ts'
import { callInView } from '../features/summary.ts'
import { admit, type Context, identify, note, readFields } from './context.ts'
import type { Exchange } from './exchange.ts'
import { collectFields, fieldTypes } from './fields.ts'
import type { Params, Route } from './router.ts'

/** Headers of deprecated operations. */
const DEPRECATED: Readonly<Record<string, OutgoingHttpHeaders>> = {
  bootstrap: {
    'X-AsyncGate-Deprecated': 'true',
    Deprecation: 'true',
    Link: '</v1/obligations/open>; rel="successor-version"',
  },
}

/** The route of an operation: collects its fields, runs it, and sends the result. */
export function restRoute(context: Context, operation: Operation): Route {
  const { gate, held, metrics } = context
  const { method, path } = operation.rest
  const types = fieldTypes(operation)
  const takesTime = mayTakeTime(operation)
  const deprecated = DEPRECATED[operation.name]

  const handle = async (exchange: Exchange, params: Params): Promise<void> => {
    if (deprecated !== undefined) {
      metrics.deprecated(path)
      for (const [name, value] of Object.entries(deprecated)) exchange.response.setHeader(name, String(value))
    }
    const credential = admit(context, exchange)
    const body = method === 'POST' ? await readFields(context, exchange) : {}
    const fields = collectFields(types, params, exchange.query, body)
    const { caller, input } = identify(exchange, credential, operation, fields)
    const isHeld = takesTime(input) || exchange.response.destroyed
    const signal = isHeld ? held.signal(exchange.response) : undefined
    const result = await callInView(gate, operation, caller, input, 'full', signal)
    note(exchange, onlyTask(result) ?? result)
    await exchange.result(result)
  }
  return { method, path, handle }
}

/** The task of a list with one task. */
function onlyTask(result: object): object | undefined {
  if (!('tasks' in result) || !Array.isArray(result.tasks) || result.tasks.length !== 1) return undefined
  const [task]: object[] = result.tasks
  return task
}
