import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { PRINCIPAL_KINDS } from '../../src/core/principal.ts'
import { RECEIPT_TYPES } from '../../src/core/receipt.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import type { Operation } from '../../src/features/define-operation.ts'
import { emailShape } from '../../src/features/email/shape.ts'
import { inboxItemShape } from '../../src/features/inbox/shape.ts'
import { principalShape } from '../../src/features/input.ts'
import { offerShape } from '../../src/features/leases/shape.ts'
import { itemError } from '../../src/features/many.ts'
import { receiptShape } from '../../src/features/receipts/get-receipt.ts'
import { ledgerReceiptShape } from '../../src/features/receipts/ledger-shape.ts'
import { relationshipShape, serverShape } from '../../src/features/server/server.ts'
import { changeShape, followInput } from '../../src/features/tasks/follow.ts'
import { statusShape, taskShape } from '../../src/features/tasks/shape.ts'
import { type Schema, schemaOf } from '../protocol/schema.ts'
import { asSchema, bodyOf, commentOf, type Style, typeOf } from './typescript.ts'

/** Shapes that many results contain. */
const SHAPES: Readonly<Record<string, z.ZodType>> = {
  PrincipalKind: z.enum(PRINCIPAL_KINDS),
  Principal: principalShape,
  Status: statusShape,
  ReceiptType: z.enum(RECEIPT_TYPES),
  Task: taskShape,
  Receipt: receiptShape,
  LedgerReceipt: ledgerReceiptShape,
  InboxItem: inboxItemShape,
  Email: emailShape,
  Offer: offerShape,
  Server: serverShape,
  Relationship: relationshipShape,
  ItemError: itemError,
  TaskChange: changeShape,
}

/** The names of shared types by their content, in the order of output. */
const names = new Map<string, string>()

/** The text of src/client/operations.ts. */
export function operationsFile(operations: readonly Operation[] = OPERATIONS): string {
  names.clear()
  const shapes = Object.entries(SHAPES).map(([name, shape]) => answerType(name, schemaOf(shape, 'output')))
  const types = operations.flatMap((operation) => [inputType(operation), answerOf(operation)])
  const follow = declare('EventsInput', schemaOf(followInput, 'input'), inputStyle)
  const routes = operations.map((operation) => `${methodOf(operation)}: ${routeOf(operation)},`)
  return formatted(
    [
      '// Generated from the catalogue of operations by scripts/client-types.ts; run npm run client-types to update it.',
      `import type { CallOptions, Route } from './route.ts'`,
      ...shapes,
      follow,
      ...types,
      `/** How each operation is called over REST. */\nexport const ROUTES = {\n${routes.join('\n')}\n} as const satisfies Record<string, Route>`,
      `/** Every operation of the server, as a method. */\nexport abstract class Operations {\n${[
        'protected abstract call<Answer>(route: Route, input: object, options?: CallOptions): Promise<Answer>',
        ...operations.map(method),
      ].join('\n\n')}\n}`,
    ].join('\n\n'),
  )
}

function inputType(operation: Operation): string {
  return declare(`${typeName(operation)}Input`, schemaOf(operation.input, 'input'), inputStyle)
}

/** A result that is a known shape, or extends one, refers to it by name. */
function answerOf(operation: Operation): string {
  const name = `${typeName(operation)}Answer`
  const schema = schemaOf(operation.output, 'output')
  const known = names.get(textOf(schema))
  if (known !== undefined) return `export type ${name} = ${known}`
  const task = schemaOf(taskShape, 'output')
  const extended = Object.keys(task.properties ?? {})
  if (!extended.every((member) => schema.properties?.[member] !== undefined)) return answerType(name, schema)
  const more = Object.entries(schema.properties ?? {}).filter(([member]) => !extended.includes(member))
  const rest: Schema = { ...schema, properties: Object.fromEntries(more) }
  return `export interface ${name} extends Task ${bodyOf(rest, answerStyle)}`
}

function answerType(name: string, schema: Schema): string {
  const declared = declare(name, schema, answerStyle)
  if (!names.has(textOf(schema))) names.set(textOf(schema), name)
  return declared
}

function declare(name: string, schema: Schema, style: Style): string {
  if (schema.type !== 'object') return `export type ${name} = ${typeOf(schema, style)}`
  if (Object.keys(schema.properties ?? {}).length === 0) return `export type ${name} = Record<string, never>`
  return `export interface ${name} ${bodyOf(schema, style)}`
}

const answerStyle: Style = {
  io: 'answer',
  nameOf: (schema) => names.get(textOf(schema)),
}

const inputStyle: Style = {
  io: 'input',
  nameOf: (schema) => itemInput(schema) ?? names.get(textOf(schema)),
}

/** Lists of inputs of another operation are recognized by their description. */
function itemInput({ description }: Schema): string | undefined {
  const item = itemOperation(description)
  return item && `${typeName(item)}Input`
}

function itemOperation(description: string | undefined): Operation | undefined {
  const [, name] = /^The input of (\w+)$/.exec(description ?? '') ?? []
  return OPERATIONS.find((operation) => operation.name === name)
}

/** Two schemas are equal if they accept the same values, whatever their descriptions. */
function textOf({ $schema: _, description: __, default: ___, ...schema }: Schema): string {
  return JSON.stringify(schema)
}

function routeOf(operation: Operation): string {
  const { rest, actor, effect } = operation
  const keyed = keyedBy(operation)
  const repeatable = effect.readOnly || effect.idempotent || keyed !== undefined
  return `{ method: '${rest.method}', path: '${rest.path}', actor: '${actor}', repeatable: ${repeatable}${
    keyed === undefined ? '' : `, keyed: '${keyed}'`
  } }`
}

const KEY = 'idempotency_key'

/** Where an idempotency key is sent: in the input itself, or in each item of a list. */
function keyedBy({ input }: Operation): string | undefined {
  const { properties = {} } = schemaOf(input, 'input')
  if (KEY in properties) return KEY
  const list = Object.entries(properties).find(([, value]) => {
    const { items } = asSchema(value)
    const item = items === undefined || Array.isArray(items) ? undefined : asSchema(items)
    const of = itemOperation(item?.description)
    return of !== undefined && KEY in of.input.shape
  })
  return list?.[0]
}

function method(operation: Operation): string {
  const name = methodOf(operation)
  const input = schemaOf(operation.input, 'input')
  const optional = (input.required ?? []).length === 0 ? ' = {}' : ''
  const type = typeName(operation)
  return [
    ...commentOf(`${operation.title}${operation.title.endsWith('?') ? '' : '.'} ${operation.description}`),
    `${name}(input: ${type}Input${optional}, options?: CallOptions): Promise<${type}Answer> {`,
    `  return this.call(ROUTES.${name}, input, options)`,
    '}',
  ].join('\n')
}

function methodOf({ name }: Operation): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function typeName(operation: Operation): string {
  const name = methodOf(operation)
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}

/** Formats the text like the rest of the code. */
function formatted(text: string): string {
  const biome = fileURLToPath(new URL('../../node_modules/@biomejs/biome/bin/biome', import.meta.url))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [biome, 'format', '--stdin-file-path=src/client/operations.ts'],
    { input: text, encoding: 'utf8', cwd: fileURLToPath(new URL('../..', import.meta.url)) },
  )
  if (status !== 0) throw new Error(`The generated file is not TypeScript: ${stderr}`)
  return stdout
}
