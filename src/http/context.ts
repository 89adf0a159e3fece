import { type Called, callerOf, type Fields } from '../auth/caller.ts'
import type { Authenticator, Credential } from '../auth/credential.ts'
import { invalid } from '../core/errors.ts'
import { parseFields } from '../core/json/text.ts'
import { type Caller, principalKey } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { isObject } from '../util/guards.ts'
import { checkMediaType, hasBody, readBody } from './body.ts'
import type { Held } from './connections.ts'
import type { Exchange } from './exchange.ts'
import { checkHostAndOrigin, type GuardSettings } from './guard.ts'
import type { Metrics } from './metrics.ts'
import { inSteps } from './steps.ts'

/** The collaborators of all routes. */
export interface Context {
  readonly gate: Gate
  readonly authenticator: Authenticator
  readonly guard: GuardSettings
  readonly maxBodyBytes: number
  readonly held: Held
  readonly metrics: Metrics
}

/** Authenticates a request before its body is read. */
export function admit({ guard, authenticator }: Context, { request }: Exchange): Credential {
  checkHostAndOrigin(request.headers, guard)
  return authenticator.authenticate(request.headers, request.socket)
}

/** The JSON object of the body; empty if there is no body. */
export async function readFields({ maxBodyBytes }: Context, { request }: Exchange): Promise<Fields> {
  if (!hasBody(request)) return {}
  checkMediaType(request)
  const body = await inSteps(parseFields(await readBody(request, maxBodyBytes)))
  if (!isObject(body)) throw invalid('', 'is not an object')
  return body
}

/** The caller, and the input without the fields that name the caller. */
export function identify(
  exchange: Exchange,
  credential: Credential,
  called: Called,
  fields: Fields,
): { caller: Caller; input: Fields } {
  note(exchange, fields)
  const { caller, input } = callerOf(credential, called, fields)
  exchange.notes.tenant = caller.tenant
  exchange.notes.principal = principalKey(caller.principal)
  return { caller, input }
}

const LOGGED_IDS = ['task_id', 'lease_id', 'worker_id'] as const

/** Adds ids to the log entry. */
export function note({ notes }: Exchange, fields: object): void {
  for (const name of LOGGED_IDS) {
    const value: unknown = Reflect.get(fields, name)
    if (typeof value === 'string' && value.length <= 255) notes[name] = value
  }
}
