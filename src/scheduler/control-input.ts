import { z } from 'zod'
import { planInput } from './plan/plan.ts'
import { timetableOf } from './plan/timetable.ts'

const text = (max: number) => z.string().min(1).max(max)

/** The payload of schedule.create. A plan without a single run to come is refused. */
export const createPayload = planInput.superRefine(({ timing }, context) => {
  const now = Date.now()
  if (timetableOf(timing, now).next(now) !== null) return
  context.addIssue({ code: 'custom', path: ['cron_expr'], message: 'never comes' })
})

/** The payload of a control task about one schedule. */
export const schedulePayload = z.strictObject({ schedule_id: text(64) })

/** The payload of schedule.list. */
export const listPayload = z.strictObject({
  limit: z.int().min(1).max(1000).default(200),
  cursor: text(64).optional(),
})
