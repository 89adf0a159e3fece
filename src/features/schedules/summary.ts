import { z } from 'zod'
import { nextCursor } from '../input.ts'
import { line, summaryView } from '../summary.ts'
import type { ScheduleView } from './shape.ts'

const MAX_TEXT = 80

const rowShape = z.object({
  schedule_id: z.string().describe('Id of the schedule'),
  name: z.string().describe('Name of the schedule; cut if it is long'),
  owner: z.string().describe('Owner, as kind:id'),
  when: z.string().describe('When it runs, in words'),
  task_type: z.string().describe('Type of the tasks that it creates'),
  paused: z.literal(true).optional().describe('Present if it is paused'),
  next_run_at: z.string().optional().describe('When it runs next'),
  last_error: z.string().optional().describe('Error code of the last run, if it failed'),
})

export const scheduleListSummary = summaryView({
  shape: z.object({ schedules: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { schedules: readonly ScheduleView[]; next_cursor: string | null }) => ({
    schedules: page.schedules.map((schedule) => ({
      schedule_id: schedule.schedule_id,
      name: line(schedule.name, MAX_TEXT),
      owner: line(`${schedule.created_by.kind}:${schedule.created_by.id}`, MAX_TEXT),
      when: line(schedule.when, MAX_TEXT),
      task_type: line(schedule.task_type, MAX_TEXT),
      ...(schedule.status === 'paused' && { paused: true as const }),
      ...(schedule.next_run_at !== null && { next_run_at: schedule.next_run_at }),
      ...(schedule.last_error !== null && { last_error: schedule.last_error }),
    })),
    next_cursor: page.next_cursor,
  }),
})
