import { z } from 'zod'
import { checkSelf } from '../core/authorization.ts'
import { Fault, invalid } from '../core/errors.ts'
import { isUuid } from '../core/ids.ts'
import type { Json, JsonObject } from '../core/json/json.ts'
import {
  type Caller,
  PRINCIPAL_KINDS,
  type PrincipalKey,
  type PrincipalKind,
  principalKey,
} from '../core/principal.ts'
import { isObject } from '../util/guards.ts'

/** Text that both stores keep unchanged. */
export function text(max: number) {
  return z.string().min(1).max(max).refine(isClean, 'contains a NUL character or a lone surrogate')
}

function isClean(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

export const seconds = (max: number, min = 0) => z.int().min(min).max(max)

/** Any JSON value. Its content is checked when its canonical text is made. */
export const json = z.custom<Json>((value) => value !== undefined, 'is required')

/** A JSON object, checked in the same way. The public schema needs the type, because zod cannot derive it from the check. */
export const jsonObject = z
  .custom<JsonObject>(isObject, { error: 'is not an object', abort: true })
  .meta({ type: 'object' })

/** Zod checks every item before it counts them, so lists that are far too long are refused first. */
const MAX_ITEMS = 1_000

/** Labels of a task. Zod drops a `__proto__` key silently, so it is refused first. */
export const labels = z
  .custom(
    (value) => !isObject(value) || !Object.hasOwn(value, '__proto__'),
    '__proto__ is not an allowed key',
  )
  .refine((value) => !isObject(value) || Object.keys(value).length <= MAX_ITEMS, {
    error: `has more than ${MAX_ITEMS} members`,
    abort: true,
  })
  .pipe(z.record(text(128), z.string().max(255)))
  .meta({ type: 'object', additionalProperties: { type: 'string' } })

export const ONE_YEAR = 365 * 24 * 3600

/** The longest that a request can wait. */
export const MAX_WAIT_SECONDS = 50

const NO_SUCH_TASK = 'is not the id of a task'

/** A malformed id is reported as an unknown task, not as invalid input. */
export const taskId = z
  .string()
  .refine(isUuid, NO_SUCH_TASK)
  .describe('Id of the task, as create_task returned it')

/** Any text is accepted: a malformed id is an unknown lease, not invalid input. */
export const leaseId = text(128).describe('Id of the lease, as lease_next returned it')

export const workerId = text(255).describe(
  'Name of the worker. Under a shared key it also identifies the caller',
)

/** The fields of every operation that a lease holder calls. */
export const leaseFields = { worker_id: workerId, task_id: taskId, lease_id: leaseId }

/** The input without its null members, for schemas in which null means absent. */
export function withoutNulls(input: unknown): unknown {
  if (!isObject(input)) return input
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
}

/** The typed input. Throws a fault that names the first invalid field. */
export function parse<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  checkLists(schema, input)
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const path = issue?.path.join('.') ?? ''
  if (issue?.message === NO_SUCH_TASK) throw new Fault('TASK_NOT_FOUND', { path })
  throw invalid(path, issue?.message ?? 'does not fit')
}

type ListCheck = (value: unknown, path: string) => void

/** One check per schema: inspecting a schema takes longer than checking a value. */
const listChecks = new WeakMap<z.ZodType, ListCheck>()

function checkLists(schema: z.ZodType, value: unknown): void {
  let check = listChecks.get(schema)
  if (check === undefined) {
    check = listCheckOf(schema) ?? (() => {})
    listChecks.set(schema, check)
  }
  check(value, '')
}

/** Undefined if the schema has no list. */
function listCheckOf(schema: unknown): ListCheck | undefined {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodArray) {
    return (value, path) => {
      if (Array.isArray(value) && value.length > MAX_ITEMS)
        throw invalid(path, `has more than ${MAX_ITEMS} items`)
    }
  }
  if (!(inner instanceof z.ZodObject)) return undefined
  const fields = Object.entries(inner.shape).flatMap(([name, field]) => {
    const check = listCheckOf(field)
    return check === undefined ? [] : [{ name, check }]
  })
  if (fields.length === 0) return undefined
  return (value, path) => {
    if (!isObject(value)) return
    for (const { name, check } of fields) {
      const member: unknown = Reflect.get(value, name)
      if (member !== undefined) check(member, path === '' ? name : `${path}.${name}`)
    }
  }
}

function unwrapped(schema: unknown): unknown {
  let inner = schema
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodNullable) {
    inner = inner.def.innerType
  }
  return inner
}

/** A time in a response: ISO 8601 UTC with milliseconds. */
export const time = z.iso.datetime()

export const principalShape = z.object({
  kind: z.enum(PRINCIPAL_KINDS).describe('Kind of the principal'),
  id: z.string().describe('Name of the principal, unique within its kind'),
})

export const pageLimit = z.int().min(1).max(200).default(50).describe('Maximum number of items per page')

export const cursor = text(512)
  .optional()
  .describe('next_cursor of the previous page; the other fields must be the same as for that page')

export const nextCursor = z
  .string()
  .nullable()
  .describe('Send it as cursor to get the next page; null on the last page')

/** The fields by which an admin names the principal that an operation is about. */
export const principalFields = {
  principal_kind: z
    .enum(PRINCIPAL_KINDS)
    .optional()
    .describe('Kind of the principal that principal_id names; agent if absent'),
  principal_id: text(255)
    .optional()
    .describe('The principal whose data is meant; the caller if absent. Only admins may name another one'),
}

/** The principal that the input names, which only admins may do for others; the caller if it names none. */
export function askedPrincipal(
  caller: Caller,
  asked: { principal_kind?: PrincipalKind | undefined; principal_id?: string | undefined },
): PrincipalKey {
  if (asked.principal_id === undefined) return principalKey(caller.principal)
  const principal: PrincipalKey = `${asked.principal_kind ?? 'agent'}:${asked.principal_id}`
  checkSelf(caller, principal)
  return principal
}
