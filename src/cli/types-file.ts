import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import type { Gate } from '../gate/gate.ts'
import { readTaskType } from '../gate/task-types-shape.ts'
import { CliError, EXIT } from './exit.ts'

type Fields = Readonly<Record<string, unknown>>

/** Whoever starts a server may say what it takes. */
const OPERATOR: Caller = {
  tenant: 'default',
  principal: { kind: 'service', id: 'operator' },
  role: 'admin',
}

/** The types of a file, each of which can be registered: a list of them in YAML, of which JSON is a part. */
export async function readTypesFile(file: string): Promise<readonly Fields[]> {
  const document = parseDocument(readText(file))
  const [error] = document.errors
  if (error !== undefined) throw wrong(file, `is not YAML or JSON: ${error.message.split('\n')[0]}`)
  const content: unknown = document.toJS()
  if (!Array.isArray(content)) throw wrong(file, 'is not a list of task types')
  const types: Fields[] = []
  for (const [i, item] of content.entries()) types.push(await checked(file, i, item, types))
  return types
}

/** Registers types that were read from a file. */
export async function registerTypes(gate: Gate, types: readonly Fields[]): Promise<void> {
  for (const type of types) await gate.registerTaskType(OPERATOR, type)
}

async function checked(file: string, i: number, item: unknown, before: readonly Fields[]): Promise<Fields> {
  if (!isFields(item)) throw wrong(file, `[${i}] is not a task type`)
  const named = typeof item.type === 'string' ? `[${i}] (${item.type})` : `[${i}]`
  if (before.some(({ type }) => type === item.type)) throw wrong(file, `${named} is there twice`)
  try {
    await readTaskType(item)
  } catch (error) {
    if (error instanceof Fault) throw wrong(file, `${named} ${error.message}`)
    throw error
  }
  return item
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw wrong(file, `cannot be read (${String(code)})`)
  }
}

function wrong(file: string, problem: string): CliError {
  const hint = 'It is a list of task types, each with a type; see docs/task-types.md.'
  return new CliError(EXIT.usage, `${file} ${problem}.`.replace(/\.\.$/, '.'), hint)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
