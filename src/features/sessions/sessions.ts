import { z } from 'zod'
import type { Caller, PrincipalKey } from '../../core/principal.ts'
import { text, time } from '../input.ts'
import { taskCountsShape } from '../tasks/shape.ts'

export const SESSION_ENDS = ['run', 'cancel'] as const
/** What happens to the calls of a session that ends: they are completed, or canceled. */
export type SessionEnd = (typeof SESSION_ENDS)[number]

export const sessionId = text(255).describe('Id of the session')

export const setSessionInput = z.strictObject({
  session_id: sessionId,
  workers: z
    .int()
    .min(1)
    .max(100)
    .nullable()
    .optional()
    .describe('Maximum number of concurrent calls; null: as configured. Unchanged if absent'),
  queue: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .optional()
    .describe('Maximum number of open calls; null: as configured. Unchanged if absent'),
})

export const sessionShape = z.object({
  session_id: z.string().describe('Id of the session'),
  principal: z.string().describe('The principal that the session belongs to, as kind:id'),
  client: z
    .object({
      name: z.string().nullable().describe('Name of the program; null if it does not report one'),
      version: z.string().nullable().describe('Version of the program; null if it does not report one'),
    })
    .describe('The client program'),
  instance: z.string().describe('The server that serves the session'),
  state: z.enum(['live', 'ending']).describe('live: accepts calls; ending: only completes its open calls'),
  workers: z.int().describe('Maximum number of concurrent calls'),
  queue: z.int().describe('Maximum number of open calls'),
  running: z.int().describe('Calls in progress'),
  waiting: z.int().describe('Calls that wait for a worker, for another attempt or for approval'),
  calls: z.int().describe('Number of calls since the session began'),
  began_at: time.describe('When the session began'),
  last_call_at: time.describe('Time of the last call'),
})

export const countedSessionShape = sessionShape.extend({
  counts: taskCountsShape.describe('Number of calls by status, including those that have ended'),
})

export const endedSessionShape = z.object({
  session_id: z.string().describe('Id of the session'),
  ended: z.boolean().describe('False if another server has the session and does not respond'),
  canceled: z.int().describe('Number of calls that were canceled'),
})

export type SessionView = z.output<typeof sessionShape>
export type EndedSession = z.output<typeof endedSessionShape>
export type SetSession = z.output<typeof setSessionInput>

/** One running instance of a client program. Together with its principal it identifies a session. */
export interface Client {
  /** Distinguishes it from other clients of the same principal. */
  readonly instance: string
  readonly name: string | null
  readonly version: string | null
}

/** A call that was admitted to a session. */
export interface Admission {
  readonly session_id: string
  readonly sessionLane: number
  /** The task of the call was created. */
  created(task_id: string): void
  /** No task was created. */
  dropped(): void
}

/** The sessions of one tenant. The gateway implements it and makes the calls. */
export interface Sessions {
  /** Admits a call to the session of a client; the first call begins the session. Throws a Fault if the session is full. */
  admit(caller: Caller, client: Client): Admission
  /** A call is about to be committed: the workers of the session have to look for it. */
  submitted(sessionLane: number): void
  /** The sessions of this server first, then those that other servers have reported. */
  list(): Promise<readonly SessionView[]>
  set(change: SetSession): Promise<SessionView | undefined>
  /** Undefined if there is no such session. */
  end(session_id: string, mode: SessionEnd | undefined): Promise<EndedSession | undefined>
  /** A client has disconnected: its session with one principal ends, or with every principal. */
  left(instance: string, principal: PrincipalKey | undefined): void
}
