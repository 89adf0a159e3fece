import { describe, expect, it } from 'vitest'
import { createPayload, listPayload } from '../../src/scheduler/control.ts'

const ASKED = { name: 'nightly', mode: 'interval', interval_seconds: 60, task_template: { type: 'report' } }
const CRON = { name: 'nightly', mode: 'cron', cron_expr: '30 2 * * *', task_template: { type: 'report' } }

function problem(payload: unknown): string {
  const { error } = createPayload.safeParse(payload)
  const issue = error?.issues[0]
  return `${issue?.path.join('.')}: ${issue?.message}`
}

describe('payload of schedule.create', () => {
  it('a valid payload gets the defaults', () => {
    expect(createPayload.parse(ASKED)).toEqual({
      name: 'nightly',
      timing: { mode: 'interval', interval_seconds: 60, timezone: 'UTC' },
      task_template: { type: 'report' },
      misfire_policy: 'catch_up_one',
      jitter_seconds: 0,
    })
    expect(createPayload.parse({ ...CRON, timezone: 'Europe/Berlin', jitter_seconds: 30 })).toMatchObject({
      timing: { mode: 'cron', cron_expr: '30 2 * * *', timezone: 'Europe/Berlin' },
      jitter_seconds: 30,
    })
  })

  it.each([
    [{ ...ASKED, interval_seconds: undefined }, /^interval_seconds: is required/],
    [{ ...ASKED, interval_seconds: 0 }, /^interval_seconds: /],
    [{ ...ASKED, interval_seconds: 1.5 }, /^interval_seconds: /],
    [{ ...ASKED, cron_expr: '* * * * *' }, /^interval_seconds: cannot be combined with cron_expr/],
    [{ ...ASKED, mode: 'never' }, /^mode: /],
    [{ ...ASKED, timezone: 'Nowhere' }, /^timezone: "Nowhere" is not a time zone/],
    [{ ...ASKED, misfire_policy: 'panic' }, /^misfire_policy: /],
    [{ ...ASKED, jitter_seconds: -1 }, /^jitter_seconds: /],
    [{ ...ASKED, colour: 'red' }, /colour/],
    [{ ...ASKED, name: '' }, /^name: /],
    [{ ...ASKED, task_template: {} }, /^task_template.type: /],
    [{ ...ASKED, task_template: { type: 'x', priority: 1001 } }, /^task_template.priority: /],
    [
      { ...ASKED, task_template: { type: 'x', payload_template: { a: '{{then}}' } } },
      /^task_template.payload_template: {{then}} is not one of/,
    ],
    [
      {
        ...ASKED,
        task_template: {
          type: 'x',
          labels: Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`l${n}`, 'x'])),
        },
      },
      /^task_template.labels: has more than 31/,
    ],
    [{ ...CRON, cron_expr: undefined }, /^cron_expr: is required/],
    [{ ...CRON, cron_expr: '61 * * * *' }, /^cron_expr: invalid value for minute/],
    [{ ...CRON, cron_expr: '0 0 31 2 *' }, /^cron_expr: never matches/],
    [{ ...CRON, interval_seconds: 60 }, /^cron_expr: cannot be combined with interval_seconds/],
  ])('the payload is refused with the path: %j', (payload, reason) => {
    expect(problem(payload)).toMatch(reason)
  })
})

describe('payload of schedule.list', () => {
  it('an empty payload is valid', () => {
    expect(listPayload.parse({})).toEqual({ limit: 200 })
    expect(listPayload.safeParse({ limit: 0 }).success).toBe(false)
  })
})
