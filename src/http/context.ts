import type { ServerResponse } from 'node:http'
import { type Called, callerOf, type Fields } from '../auth/caller.ts'
import type { Authenticator, Credential } from '../auth/credential.ts'
import type { ProtectedResource } from '../auth/protected-resource.ts'
import { invalid } from '../core/errors.ts'
import { parseFields } from '../core/json/text.ts'
import { type Caller, principalKey } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { isObject } from '../util/guards.ts'
import { checkMediaType, hasBody, readBody } from './body.ts'
import type { BulkRequests } from './bulk-requests.ts'
import type { Clients } from './clients.ts'
import type { Held } from './connections.ts'
import type { Exchange } from './exchange.ts'
import { checkHostAndOrigin, type GuardSettings } from './guard.ts'
import type { Metrics } from './metrics.ts'
import { noteKeyUse } from './origin.ts'
import { inSteps } from './steps.ts'

/** The collaborators of all routes. */
export interface Context {
  readonly gate: Gate
  readonly authenticator: Authenticator
  /** Where clients get access tokens; undefined if none are accepted. */
  readonly resource?: ProtectedResource | undefined
  readonly guard: GuardSettings
  readonly clients: Clients
  readonly maxBodyBytes: number
  readonly held: Held
  readonly bulk: BulkRequests
  readonly metrics: Metrics
}

/** Authenticates a request before its body is read. A promise only for a key or token that has to be looked up. */
export function admit(context: Context, exchange: Exchange): Credential | Promise<Credential> {
  const { request } = exchange
  checkHostAndOrigin(request.headers, context.guard)
  const credential = context.clients.authenticate(request, (admit) =>
    context.authenticator.authenticate(request.headers, request.socket, admit),
  )
  if (credential instanceof Promise) return credential.then((known) => admitted(context, exchange, known))
  return admitted(context, exchange, credential)
}

function admitted({ gate, authenticator }: Context, exchange: Exchange, credential: Credential): Credential {
  exchange.credential = credential
  noteKeyUse(gate.audit, credential, exchange.origin, authenticator.allowsAnonymous)
  return credential
}

/** Ends a response that may take long when the key or token of its request is revoked or expires. */
export function endWithKey(
  { authenticator }: Pick<Context, 'authenticator'>,
  response: ServerResponse,
  credential: Credential,
): void {
  const unsubscribe = authenticator.watch(credential, () => response.destroy())
  if (unsubscribe !== undefined) response.once('close', unsubscribe)
}

/** The JSON object of the body; empty if there is no body. */
export async function readFields(context: Context, exchange: Exchange): Promise<Fields> {
  return fieldsOf(await readText(context, exchange))
}

/** The text of the body; undefined if there is no body. */
export async function readText(
  { maxBodyBytes }: Context,
  { request }: Exchange,
): Promise<string | undefined> {
  if (!hasBody(request)) return undefined
  checkMediaType(request)
  return readBody(request, maxBodyBytes)
}

export async function fieldsOf(text: string | undefined): Promise<Fields> {
  if (text === undefined) return {}
  const body = await inSteps(parseFields(text))
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
  const { caller, input } = callerOf(credential, called, fields, exchange.origin)
  exchange.notes.tenant = caller.tenant
  exchange.notes.principal = principalKey(caller.principal)
  exchange.notes.role = caller.role
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
