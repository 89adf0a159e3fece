import type { Gate } from '../../../src/features/gate.ts'
import { admin, worker } from '../../support/gates.ts'
import { ARTIFACTS } from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

/** A task type with a tool called `sum`. */
export const SUM = {
  type: 'sum',
  description: 'Adds numbers.',
  payload_schema: {
    type: 'object',
    properties: { numbers: { type: 'array', items: { type: 'number' } } },
  },
  tool: { name: 'sum', wait_seconds: 20 },
}

/** The status message of a queued `sum` while no worker serves it. */
export const UNSERVED =
  'Waits for a worker. No worker has served type sum in the last 2 minutes. The task waits until one does.'

export async function offerSum(gate: Gate, more: object = {}): Promise<void> {
  await gate.registerTaskType(admin(), { ...SUM, ...more })
}

/** The lease of a worker. */
export interface Held {
  readonly worker_id: string
  readonly task_id: string
  readonly lease_id: string
}

/** Claims the next task for a worker. */
export async function take(gate: Gate): Promise<Held> {
  const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', wait_seconds: 20 })
  const [offer] = tasks
  if (offer === undefined) throw new Error('There is nothing to do')
  return { worker_id: 'w1', task_id: offer.task_id, lease_id: offer.lease_id }
}

export const progress = (gate: Gate, held: Held, progress: Fields) =>
  gate.reportProgress(worker(), { ...held, progress })

export const complete = (gate: Gate, held: Held, result: unknown) =>
  gate.complete(worker(), { ...held, result, artifacts: ARTIFACTS })

export const fail = (gate: Gate, held: Held, error: Fields) => gate.fail(worker(), { ...held, error })
