import { ALICE } from './people.ts'
import { no, ok, type Step } from './step.ts'

const MANY = Array.from({ length: 20 }, (_, n) => ({ type: 'fill', payload: n }))

/** The tenant's quota; last, because nothing more can be created then. */
export const limitSteps: readonly Step[] = [
  ok('create_tasks', { ...ALICE, tasks: MANY }, {}),
  no('create_task', { ...ALICE, type: 'one too many' }, 'QUOTA_EXCEEDED'),
]
