/** A schema of any library that follows the Standard Schema specification, such as Zod, Valibot or ArkType. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** Of libraries that can say it for others. */
    readonly jsonSchema?: JsonSchemas | undefined
  }
}

interface JsonSchemas {
  readonly input: (options: { readonly target: 'draft-2020-12' }) => Readonly<Record<string, unknown>>
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type SchemaInput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input']
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output']

/** What is wrong with a value, and where: `items.0.name`, or an empty path for the value itself. */
export interface Problem {
  readonly path: string
  readonly message: string
}

export type Checked = { readonly value: unknown } | { readonly problems: readonly Problem[] }

/** More would only make an error hard to read. */
const MAX_PROBLEMS = 10
const MAX_TEXT = 500

/** The value as its schema gives it, or what is wrong with it. Without a schema every value is right. */
export async function check(schema: StandardSchema | undefined, value: unknown): Promise<Checked> {
  if (schema === undefined) return { value }
  const result = await schema['~standard'].validate(value)
  return result.issues === undefined
    ? result
    : { problems: result.issues.slice(0, MAX_PROBLEMS).map(problemOf) }
}

/** The same as JSON Schema, if its library can say it; some refinements cannot be said. */
export function jsonSchemaOf(schema: StandardSchema): Readonly<Record<string, unknown>> | undefined {
  try {
    return schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    return undefined
  }
}

function problemOf({ message, path = [] }: SchemaIssue): Problem {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return { path: names.join('.').slice(0, MAX_TEXT), message: message.slice(0, MAX_TEXT) }
}
