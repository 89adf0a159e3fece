import { z } from 'zod'
import { checkPermission, type Permission } from '../core/authorization.ts'
import type { Caller } from '../core/principal.ts'
import type { OperationSet } from '../core/tool-sets.ts'
import { reportDecision } from './audit/decisions.ts'
import type { AuditEventName } from './audit/port.ts'
import { isAdminAction, recordAction, recordRefusal } from './audit/recording.ts'
import { parse } from './input.ts'
import type { Services } from './services.ts'
import { countCall } from './usage/calls.ts'

/** The short form of a response: the default over MCP; over REST with `view=summary`. */
export interface SummaryView<Output> {
  readonly shape: z.ZodType<object>
  /** Defaults that replace those of the input. */
  readonly defaults?: Readonly<Record<string, unknown>>
  of(output: Output, now: number): object
}

interface Description<Name extends string, Input extends z.ZodObject, Output extends z.ZodType<object>> {
  /** The MCP tool is called `asyncgate.` followed by this name; the method of the gate is its camel case form. */
  readonly name: Name
  readonly title: string
  /** Written for a model that has to choose a tool: what it does, when to use it, what comes next. */
  readonly description: string
  readonly input: Input
  readonly output: Output
  /** The permission that the role and the scopes of the caller must include. */
  readonly access: Permission
  /** What repeating the same request does, where that depends on its fields. */
  readonly repeat?: string
  /** The input of an example request under a shared key. */
  readonly example?: Readonly<Record<string, unknown>>
  /**
   * Whether it makes a decision or changes what has to be decided. Such an operation requires a person who has proved
   * their identity: over REST and MCP with their own key, in the console by signing in.
   */
  readonly needsPerson?: true
  /** Whether it may run as long as a wait does; it then stops between two steps when its caller disconnects. */
  readonly isLong?: true
  /** Whether a request has many items. The server reads few such requests at a time. */
  readonly isBulk?: true
  /** The tool sets that include it. The set `all` always does. */
  readonly toolsets?: readonly OperationSet[]
  /** The fields that a model is shown; all of them if absent. The others are accepted too. */
  readonly modelFields?: readonly string[]
  readonly summary?: SummaryView<z.output<Output>>
  /** The audit event of a successful call that an admin makes; admin_action if absent. */
  readonly auditEvent?: AuditEventName
  /** The field of the input or the response that names what was changed; if absent, the first one of the path. */
  readonly auditSubject?: string
}

type Path = `/v1/${string}`

/**
 * One public operation. REST routes, MCP tools, the OpenAPI document, the client's types and the protocol reference are
 * derived from its definition, so each fact about it, and each description of a field, is written once. A GET operation
 * only reads, unless its effect says otherwise.
 */
export type Definition<
  Name extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType<object>,
> = Description<Name, Input, Output> & {
  /** The kind of principal that calls it; anyone if absent. */
  readonly actor?: Operation['actor']
  readonly modelFields?: readonly (keyof z.output<Input> & string)[]
  /** Rewrites the input before it is validated, for example to treat null as absent. */
  readonly normalize?: (input: unknown) => unknown
  run(
    services: Services,
    caller: Caller,
    input: z.output<Input>,
    signal?: AbortSignal,
  ): Promise<z.output<Output>>
} & (
    | { readonly rest: { readonly method: 'GET'; readonly path: Path }; readonly effect?: Effect }
    | { readonly rest: { readonly method: 'POST'; readonly path: Path }; readonly effect: Effect }
  )

export interface Operation<
  Name extends string = string,
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType<object> = z.ZodType<object>,
> extends Description<Name, Input, Output> {
  /** The kind of principal that calls it. It decides how a request under a shared key names its principal. */
  readonly actor: 'agent' | 'worker' | 'anyone'
  readonly rest: { readonly method: 'GET' | 'POST'; readonly path: Path }
  readonly effect: Effect
  /** Checks the caller and the input, then runs the operation. */
  call(services: Services, caller: Caller, input: unknown, signal?: AbortSignal): Promise<z.output<Output>>
}

/** What a call changes, in the terms of the annotations of an MCP tool. */
interface Effect {
  readonly readOnly: boolean
  /** It ends or undoes something. */
  readonly destructive: boolean
  /** Repeating the request changes nothing more. */
  readonly idempotent: boolean
}

export const READS: Effect = { readOnly: true, destructive: false, idempotent: true }
export const WRITES: Effect = { readOnly: false, destructive: false, idempotent: false }
export const WRITES_ONCE: Effect = { readOnly: false, destructive: false, idempotent: true }
export const ENDS: Effect = { readOnly: false, destructive: true, idempotent: true }

export function defineOperation<
  const Name extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType<object>,
>(definition: Definition<Name, Input, Output>): Operation<Name, Input, Output> {
  const described = { actor: 'anyone', effect: READS, ...definition } as const
  const isAction = isAdminAction(described)
  return {
    ...described,
    async call(services, caller, input, signal) {
      try {
        const counting = services.rateLimits.count(caller, definition.name)
        if (counting !== undefined) await counting
        checkPermission(caller, definition.access)
        const given = definition.normalize === undefined ? input : definition.normalize(input)
        const parsed = parse(definition.input, given)
        countCall(services.usage, caller)
        const output = await definition.run(services, caller, parsed, signal)
        if (isAction) recordAction(services.audit, described, caller, parsed, output)
        if (services.onDecision !== undefined) reportDecision(services.onDecision, described, caller)
        return output
      } catch (error) {
        recordRefusal(services.audit, error, caller, definition.name)
        if (services.onDecision !== undefined) reportDecision(services.onDecision, described, caller, error)
        throw error
      }
    },
  }
}

export type JsonSchema = Readonly<Record<string, unknown>>

/** The JSON Schema (2020-12) of what a client sends. */
export function inputSchema(operation: Pick<Operation, 'input'>): JsonSchema {
  return schemaOf(operation.input, 'input')
}

/** The JSON Schema (2020-12) of the response. */
export function outputSchema(operation: Pick<Operation, 'output'>): JsonSchema {
  return schemaOf(operation.output, 'output')
}

/** Fields that accept any JSON, or that only code can check, are unrestricted in the schema. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => shorten(jsonSchema),
  })
  return rest
}

/** Removes redundant keywords: models read the schema, and each token costs money. */
function shorten(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === 'date-time') delete schema.pattern
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  delete schema.readOnly
}

/** Whether a call with this input may wait, so that it has to stop when its caller disconnects. */
export function mayTakeTime({
  input,
  isLong,
}: Operation): (given: Readonly<Record<string, unknown>>) => boolean {
  const field = input.shape.wait_seconds
  if (isLong) return () => true
  if (field === undefined) return () => false
  const unasked = z.number().catch(0).parse(z.parse(field, undefined))
  return ({ wait_seconds = unasked }) => wait_seconds !== 0
}
