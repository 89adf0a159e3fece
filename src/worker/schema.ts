/** A schema of any library that follows the Standard Schema specification, such as Zod, Valibot or ArkType. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** Present if the library can export JSON Schema. */
    readonly jsonSchema?: JsonSchemas | undefined
  }
}

/** The converter of the Standard JSON Schema specification. */
interface JsonSchemas {
  readonly input: (options: JsonSchemaOptions) => JsonSchema
  readonly output?: (options: JsonSchemaOptions) => JsonSchema
}

interface JsonSchemaOptions {
  readonly target: typeof TARGET
  readonly libraryOptions?: Record<string, unknown> | undefined
}

export type JsonSchema = Readonly<Record<string, unknown>>

export const TARGET = 'draft-2020-12'

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type SchemaInput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input']
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output']

/** An invalid value and its path, as in `items.0.name`; the path of the whole value is empty. */
export interface Problem {
  readonly path: string
  readonly message: string
}

export type Checked = { readonly value: unknown } | { readonly problems: readonly Problem[] }

/** Limits that keep errors readable. */
const MAX_PROBLEMS = 10
const MAX_TEXT = 500

/** The value that the schema returns, or the problems. Without a schema every value is valid. */
export async function check(schema: StandardSchema | undefined, value: unknown): Promise<Checked> {
  if (schema === undefined) return { value }
  const result = await schema['~standard'].validate(value)
  return result.issues === undefined
    ? result
    : { problems: result.issues.slice(0, MAX_PROBLEMS).map(problemOf) }
}

/** The JSON Schema, if the library can export it; some refinements have no equivalent. */
export function jsonSchemaOf(schema: StandardSchema): JsonSchema | undefined {
  try {
    return schema['~standard'].jsonSchema?.input({ target: TARGET })
  } catch {
    return undefined
  }
}

function problemOf({ message, path = [] }: SchemaIssue): Problem {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return { path: names.join('.').slice(0, MAX_TEXT), message: message.slice(0, MAX_TEXT) }
}
