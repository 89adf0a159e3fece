import { Fault } from '../core/errors.ts'
import { type Caller, OPERATOR as OPERATOR_PRINCIPAL } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { Schemas } from '../features/task-types/schemas.ts'
import { readTaskType } from '../features/task-types/shape.ts'
import { isObject } from '../util/guards.ts'
import { OperatorFile } from './operator-file.ts'

type Fields = Readonly<Record<string, unknown>>

/** Whoever starts a server may say what it takes. */
const OPERATOR: Caller = {
  tenant: 'default',
  principal: OPERATOR_PRINCIPAL,
  role: 'admin',
}

const HINT = 'It is a list of task types, each with a type; see docs/task-types.md.'

/** The types of a file, each of which can be registered: a list of them. */
export async function readTypesFile(path: string): Promise<readonly Fields[]> {
  const file = new OperatorFile(path, HINT)
  if (!Array.isArray(file.content)) throw file.wrong('is not a list of task types')
  const types: Fields[] = []
  const schemas = new Schemas()
  try {
    for (const [i, item] of file.content.entries()) types.push(await checked(schemas, file, i, item, types))
    return types
  } finally {
    await schemas.close()
  }
}

/** Registers types that were read from a file. */
export async function registerTypes(gate: Gate, types: readonly Fields[]): Promise<void> {
  for (const type of types) await gate.registerTaskType(OPERATOR, type)
}

async function checked(
  schemas: Schemas,
  file: OperatorFile,
  i: number,
  item: unknown,
  before: readonly Fields[],
): Promise<Fields> {
  if (!isObject(item)) throw file.wrong(`[${i}] is not a task type`)
  const named = typeof item.type === 'string' ? `[${i}] (${item.type})` : `[${i}]`
  if (before.some(({ type }) => type === item.type)) throw file.wrong(`${named} is there twice`)
  try {
    await readTaskType(schemas, item)
  } catch (error) {
    if (error instanceof Fault) throw file.wrong(`${named} ${error.message}`)
    throw error
  }
  return item
}
