import { ALICE } from './people.ts'
import { no, ok, type Step } from './step.ts'

const MANY = Array.from({ length: 20 }, (_, n) => ({ type: 'fill', payload: n }))

/** The quota of the tenant; last, because nothing more can be created afterwards. */
export const limitSteps: readonly Step[] = [
  ok('create_tasks', { ...ALICE, tasks: MANY }, {}),
  no('create_task', { ...ALICE, type: 'one too many' }, 'QUOTA_EXCEEDED'),
]
