import { RECEIPT_TYPES } from '../../src/core/receipt.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import type { Operation } from '../../src/features/define-operation.ts'
import { type Field, fieldsOf, limitsOf, type Schema, schemaOf, typeOf } from './schema.ts'
import { whoMayCall } from './who.ts'

const BEGIN = '<!-- Generated from the catalogue of operations by scripts/protocol.ts: begin -->'
const END = '<!-- Generated: end -->'

/** The page with an updated generated part. */
export async function updatedPage(page: string): Promise<string> {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin < 0 || end < begin) throw new Error('docs/protocol.md has lost its markers')
  return `${page.slice(0, begin)}${BEGIN}\n\n${generated(await whoMayCall())}\n\n${page.slice(end)}`
}

/** The page without the generated part. */
export function writtenByHand(page: string): string {
  return page.slice(0, page.indexOf(BEGIN)) + page.slice(page.indexOf(END))
}

function generated(callers: ReadonlyMap<string, string>): string {
  const index = table(
    ['Operation', '', 'REST', 'Who may call'],
    OPERATIONS.map((operation) => [
      `[${operation.name}](#${operation.name})`,
      operation.title,
      route(operation),
      callers.get(operation.name) ?? '',
    ]),
  )
  const shapes = [...SHAPES].map(
    ([name, { schema }]) => `### ${name}\n\n${answerTable(fieldsOf(schema).filter(isShown))}`,
  )
  const sections = OPERATIONS.map((operation) => section(operation, callers.get(operation.name) ?? ''))
  return [index, CALLERS_INTRODUCED, ...sections, '## Shapes', SHAPES_INTRODUCED, ...shapes].join('\n\n')
}

const SHAPES_INTRODUCED = 'Fields that [create_task](#create_task) takes mean the same here.'

const CALLERS_INTRODUCED =
  'Admins may call every operation. An admin is a person with a key of `ASYNCGATE_ADMIN_KEYS`. Without such keys, a caller that ' +
  'acts as a person (`principal_kind: human`) or names no principal is an admin. Decisions, and changes of the rules for decisions, always need the key of ' +
  'a person ([who may decide](approvals.md#who-may-decide)), and no one can decide on their own requests. Agents and workers act on their own tasks, leases, receipts and inboxes only.'

function section(operation: Operation, callers: string): string {
  const { name, title, description, example } = operation
  return [
    `### ${name}`,
    `${title}${title.endsWith('?') ? '' : '.'} ${description}`,
    `${route(operation)} · MCP \`asyncgate_${name}\` · for ${callers}${operation.needsPerson ? ', with their own key' : ''} · ${repeatable(operation)}`,
    inputTable(operation),
    ...(operation.summary === undefined ? [] : [SUMMARY]),
    ...(example === undefined ? [] : [request(operation, example)]),
    answer(operation),
  ].join('\n\n')
}

const SUMMARY = 'The query parameter `view=summary` returns a short form, which is the default over MCP.'

function route({ rest }: Operation): string {
  return `\`${rest.method} ${rest.path}\``
}

function repeatable({ effect, repeat }: Operation): string {
  if (effect.readOnly) return 'read-only'
  return repeat ?? (effect.idempotent ? 'idempotent' : 'not idempotent')
}

function inputTable(operation: Operation): string {
  const fields = fieldsOf(schemaOf(operation.input, 'input'))
  if (fields.length === 0) return 'It takes no fields of its own.'
  return table(
    ['Field', 'Type', 'Required', 'Limits', 'Meaning'],
    fields.map((field) => [
      `\`${field.path}\``,
      typeOf(field.schema, nameOf),
      field.required ? 'yes' : '',
      limitsOf(field.schema),
      meaningOf(operation, field),
    ]),
  )
}

function meaningOf({ name }: Operation, { path, schema }: Field): string {
  if (schema.description === undefined) throw new Error(`The field ${path} of ${name} has no description`)
  return schema.description
}

function request({ rest }: Operation, example: Readonly<Record<string, unknown>>): string {
  const fields = new Map(Object.entries(example))
  const path = rest.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(fields.get(name))
    fields.delete(name)
    return value
  })
  const query = rest.method === 'GET' ? queryOf(fields) : ''
  const line = `${rest.method} ${path}${query === '' ? '' : `?${query}`}`
  const body = rest.method === 'GET' ? [] : ['', bodyOf(fields)]
  return ['```http', line, ...body, '```'].join('\n')
}

/** One property per line. */
function bodyOf(fields: ReadonlyMap<string, unknown>): string {
  const members = [...fields].map(([name, value]) => `  ${JSON.stringify(name)}: ${spaced(value)}`)
  return `{\n${members.join(',\n')}\n}`
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`)
  return `{ ${members.join(', ')} }`
}

function queryOf(fields: ReadonlyMap<string, unknown>): string {
  const pairs = [...fields].flatMap(([name, value]): [string, string][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([key, text]) => [`label.${key}`, String(text)])
      : [[name, String(value)]],
  )
  return new URLSearchParams(pairs).toString()
}

interface Shape {
  readonly link: string
  readonly schema: Schema
}

/** Shapes with their own section, because many results contain them. */
const SHAPES = new Map<string, Shape>(
  Object.entries({
    Task: outputOf('get_task'),
    Receipt: outputOf('get_receipt'),
    LedgerReceipt: memberOf(outputOf('list_receipts_ledger'), 'receipts').items,
    InboxItem: memberOf(outputOf('list_inbox'), 'items').items,
    Email: memberOf(outputOf('list_emails'), 'emails').items,
    Offer: memberOf(outputOf('lease_next'), 'tasks').items,
    Server: memberOf(outputOf('list_open_obligations'), 'server'),
    Relationship: memberOf(outputOf('list_open_obligations'), 'relationship'),
  }).map(([name, schema]) => [name, { link: `[${name}](#${name.toLowerCase()})`, schema: asObject(schema) }]),
)

/** Shapes that are described elsewhere. */
const OTHERS: readonly Shape[] = [
  ...['create_task', 'renew_lease', 'complete'].map((name) => ({
    link: `the answer of [${name}](#${name})`,
    schema: outputOf(name),
  })),
  { link: '[an error](errors.md)', schema: itemError() },
  {
    link: '[type of a receipt](concepts.md#receipts)',
    schema: { type: 'string', enum: [...RECEIPT_TYPES] },
  },
]

const NAMES = new Map([...SHAPES.values(), ...OTHERS].map(({ link, schema }) => [textOf(schema), link]))

function nameOf(schema: Schema): string | undefined {
  return NAMES.get(textOf(schema))
}

/** Two shapes are equal if they have the same fields, whatever their descriptions. */
function textOf({ $schema: _, description: __, ...schema }: Schema): string {
  return JSON.stringify(schema)
}

function outputOf(name: string): Schema {
  const operation = OPERATIONS.find((candidate) => candidate.name === name)
  if (operation === undefined) throw new Error(`There is no operation ${name}`)
  return schemaOf(operation.output, 'output')
}

function memberOf({ properties }: Schema, name: string): Schema {
  return asObject(properties?.[name])
}

function itemError(): Schema {
  const outcome = asObject(memberOf(outputOf('create_tasks'), 'results').items)
  return asObject(outcome.anyOf?.at(-1))
}

function asObject(schema: Schema | boolean | readonly unknown[] | undefined): Schema {
  if (typeof schema !== 'object' || Array.isArray(schema)) throw new Error('A shape is not where it was')
  return { ...schema }
}

function answer(operation: Operation): string {
  const schema = schemaOf(operation.output, 'output')
  const shape = [...SHAPES.values()].find((known) => textOf(known.schema) === textOf(schema))
  if (shape !== undefined) return `Answer: ${shape.link}.`
  const task = SHAPES.get('Task')
  const members = Object.keys(schema.properties ?? {})
  const known = Object.keys(task?.schema.properties ?? {})
  const extended = task !== undefined && known.every((name) => members.includes(name))
  const fields = fieldsOf(schema).filter(isShown)
  if (!extended) return `Answer:\n\n${answerTable(fields)}`
  const more = fields.filter(({ path }) => !known.includes(path.split('.')[0] ?? ''))
  return `Answer: ${task.link}, and\n\n${answerTable(more)}`
}

/** The properties of a shape with its own section are documented there. */
function isShown({ path }: Field, _: number, fields: readonly Field[]): boolean {
  return !fields.some((other) => path.startsWith(`${other.path}.`) && nameOf(other.schema) !== undefined)
}

function answerTable(fields: readonly Field[]): string {
  const rows = fields.map(({ path, schema, required }) => [
    `\`${path}\``,
    typeOf(schema, nameOf) + (required ? '' : ', not always there'),
    schema.description ?? '',
  ])
  return table(['Field', 'Type', 'Meaning'], rows)
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n')
}
