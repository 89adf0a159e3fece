import { z } from 'zod'
import { text } from '../input.ts'
import { taskCountsShape } from '../tasks/shape.ts'

export const SESSION_ENDS = ['run', 'cancel'] as const
/** What becomes of the calls of a session that ends: they are still made, or canceled. */
export type SessionEnd = (typeof SESSION_ENDS)[number]

const sessionId = text(255)

export const listSessionsInput = z.strictObject({})
export const sessionInput = z.strictObject({ session_id: sessionId })
export const setSessionInput = z.strictObject({
  session_id: sessionId,
  workers: z
    .int()
    .min(1)
    .max(100)
    .nullable()
    .optional()
    .meta({ description: 'Calls at once; null: as configured' }),
  queue: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .optional()
    .meta({ description: 'Open calls; null: as configured' }),
})
export const endSessionInput = z.strictObject({
  session_id: sessionId,
  mode: z.enum(SESSION_ENDS).optional(),
})

const time = z.iso.datetime()

export const sessionShape = z.object({
  session_id: z.string(),
  principal: z.string().meta({ description: 'Whose it is, as kind:id' }),
  client: z.object({ name: z.string().nullable(), version: z.string().nullable() }),
  instance: z.string().meta({ description: 'The server that serves it' }),
  state: z.enum(['live', 'ending']),
  workers: z.int().meta({ description: 'Calls at once' }),
  queue: z.int().meta({ description: 'Calls that may be open' }),
  running: z.int().meta({ description: 'Calls that are being made' }),
  waiting: z.int().meta({ description: 'Calls that wait: for their turn, for another try or for approval' }),
  calls: z.int().meta({ description: 'Calls since it began' }),
  began_at: time,
  last_call_at: time,
})

export const countedSessionShape = sessionShape.extend({
  counts: taskCountsShape.meta({ description: 'Its calls by status, including those that have ended' }),
})

export const endedSessionShape = z.object({
  session_id: z.string(),
  ended: z.boolean().meta({ description: 'False if another server has it and does not answer' }),
  canceled: z.int().meta({ description: 'Calls that were canceled' }),
})

export type SessionView = z.output<typeof sessionShape>
export type CountedSession = z.output<typeof countedSessionShape>
export type EndedSession = z.output<typeof endedSessionShape>
export type SetSession = z.output<typeof setSessionInput>
