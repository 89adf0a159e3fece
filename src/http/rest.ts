import type { OutgoingHttpHeaders } from 'node:http'
import type { Credential } from '../auth/credential.ts'
import { mayTakeTime, type Operation } from '../features/define-operation.ts'
import { callInView } from '../features/summary.ts'
import { admit, type Context, endWithKey, fieldsOf, identify, note, readText } from './context.ts'
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
  const { gate, held, bulk, metrics } = context
  const { method, path } = operation.rest
  const types = fieldTypes(operation)
  const takesTime = mayTakeTime(operation)
  const deprecated = DEPRECATED[operation.name]

  const handle = async (exchange: Exchange, params: Params): Promise<void> => {
    if (deprecated !== undefined) {
      metrics.deprecated(path)
      for (const [name, value] of Object.entries(deprecated)) exchange.response.setHeader(name, String(value))
    }
    const credential = await admit(context, exchange)
    const text = method === 'POST' ? await readText(context, exchange) : undefined
    const run = () => respond(exchange, params, credential, text)
    if (operation.isBulk && text !== undefined) await bulk.run(text, run)
    else await run()
  }
  const respond = async (exchange: Exchange, params: Params, credential: Credential, text?: string) => {
    const fields = collectFields(types, params, exchange.query, await fieldsOf(text))
    const { caller, input } = identify(exchange, credential, operation, fields)
    const isHeld = takesTime(input) || exchange.response.destroyed
    if (isHeld) endWithKey(context, exchange.response, credential)
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
