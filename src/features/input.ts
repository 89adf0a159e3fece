import { z } from 'zod'
import { Fault, invalid } from '../core/errors.ts'
import { isUuid } from '../core/ids.ts'
import type { Json, JsonObject } from '../core/json/json.ts'
import { isObject } from '../util/guards.ts'

/** Text that both stores keep as it is. */
export function text(max: number) {
  return z.string().min(1).max(max).refine(isClean, 'contains a NUL character or a lone surrogate')
}

function isClean(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

export const seconds = (max: number, min = 0) => z.int().min(min).max(max)

/** Any JSON. What it contains is checked when its canonical text is made. */
export const json = z.custom<Json>((value) => value !== undefined, 'is required')

/** A JSON object, checked in the same way. The schema that clients see cannot be read off the check. */
export const jsonObject = z
  .custom<JsonObject>(isObject, { error: 'is not an object', abort: true })
  .meta({ type: 'object' })

/** Zod looks at every item before it counts them, so lists that are far too long are refused before. */
const MAX_ITEMS = 1_000

/** What tasks are found by. Zod passes over `__proto__` in silence, so it is looked for before. */
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
  .meta({ type: 'object', description: 'Texts by name' })

export const ONE_YEAR = 365 * 24 * 3600

const NO_SUCH_TASK = 'is not the id of a task'

/** A task that does not exist and one that cannot exist are the same to a caller. */
export const taskId = z.string().refine(isUuid, NO_SUCH_TASK)

/** A lease id that cannot exist is a wrong lease. */
export const leaseId = text(128)

export const workerId = text(255)

/** What every call of a lease holder names. */
export const leaseFields = { worker_id: workerId, task_id: taskId, lease_id: leaseId }

/** The input without its members that are null, for schemas in which null is the same as absent. */
export function withoutNulls(input: unknown): unknown {
  if (!isObject(input)) return input
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
}

/** The input in its typed form, or a fault that names the first field that does not fit. */
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

/** What was found out about schemas: looking into them takes longer than checking a value. */
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
