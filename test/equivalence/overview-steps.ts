import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

/** Servers write what they have counted every few seconds, so only the history of a tenant without tasks is compared. */
const GUEST = { tenant: 'guest' }

export const overviewSteps: readonly Step[] = [
  ok('get_overview', ROOT, {}),
  no('get_overview', BOB, 'FORBIDDEN'),
  ok('get_history', { ...ROOT, ...GUEST }, { period: 'hour', row_seconds: 60 }),
  ok('get_history', { ...ROOT, ...GUEST, period: 'month' }, { period: 'month', row_seconds: 21_600 }),
  no('get_history', { ...ROOT, period: 'week' }, 'VALIDATION_ERROR'),
  no('get_history', BOB, 'FORBIDDEN'),
]
