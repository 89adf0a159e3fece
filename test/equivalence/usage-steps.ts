import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const PAST = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }

/** Calls that the tests make besides count too, so only periods before them are compared. */
export const usageSteps: readonly Step[] = [
  ok(
    'get_usage',
    { ...ROOT, ...PAST },
    { granularity: 'day', rows: [], totals: { tasks: 0, lease_hours: 0, receipt_byte_hours: 0, calls: 0 } },
  ),
  ok('get_usage', { ...ROOT, ...PAST, tenant: 'guest' }, { rows: [] }),
  no('get_usage', { ...BOB, ...PAST }, 'FORBIDDEN'),
  no('get_usage', { ...ROOT, granularity: 'week' }, 'VALIDATION_ERROR'),
  no('get_usage', { ...ROOT, from: PAST.to, to: PAST.from }, 'VALIDATION_ERROR'),
]
