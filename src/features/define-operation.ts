import type { z } from 'zod'
import type { Caller } from '../core/principal.ts'
import type { Gate } from './gate.ts'

/**
 * One thing a client can ask for, said once. REST routes, MCP tools, their schemas, the client's types and the
 * protocol page are made from these entries.
 */
export interface Operation {
  /** The MCP tool is `asyncgate.` and this. */
  readonly name: string
  readonly title: string
  /** Written for a model that has to choose a tool: what it does, when to use it, what comes next. */
  readonly description: string
  readonly input: z.ZodObject
  readonly output: z.ZodType
  /** Whose call it is. It decides how a request under a shared key names its principal. */
  readonly actor: 'agent' | 'worker' | 'anyone'
  readonly rest: { readonly method: 'GET' | 'POST'; readonly path: `/v1/${string}` }
  readonly effect: Effect
  /**
   * Whether it decides, or changes what has to be decided. Only a person who has proved who they are may do that: over
   * REST and MCP with a key that is theirs alone, in the console by signing in.
   */
  readonly needsPerson?: true
  /** Whether it may take as long as a wait: it stops between two steps when its caller leaves. */
  readonly isLong?: true
  run(gate: Gate, caller: Caller, input: unknown, signal?: AbortSignal): Promise<object>
}

/** What a call does to the world, as the hints of an MCP tool say it. */
export interface Effect {
  readonly readOnly: boolean
  /** It ends or undoes something. */
  readonly destructive: boolean
  /** Sending it again changes nothing more. */
  readonly idempotent: boolean
}

export const READS: Effect = { readOnly: true, destructive: false, idempotent: true }
export const WRITES: Effect = { readOnly: false, destructive: false, idempotent: false }
export const WRITES_ONCE: Effect = { readOnly: false, destructive: false, idempotent: true }
export const ENDS: Effect = { readOnly: false, destructive: true, idempotent: true }
