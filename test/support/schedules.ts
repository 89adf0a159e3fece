import type { Gate } from '../../src/features/gate.ts'
import { agent, worker } from './gates.ts'
import { ask, finish, held, lease } from './steps.ts'

/** A schedule of alice by default, which the scheduler w1 has recorded. */
export async function recordedSchedule(gate: Gate, payload: object = {}, by = agent()) {
  const task_template = { type: 'tick', payload_template: { at: '{{run_at}}' }, labels: { team: 'ops' } }
  await ask(
    gate,
    {
      type: 'schedule.create',
      payload: { name: 'hourly', mode: 'interval', interval_seconds: 3600, task_template, ...payload },
    },
    by,
  )
  const offer = await lease(gate, { accept_types: ['schedule.create'] })
  const schedule_id = offer.task_id
  const { receipt_id } = await gate.recordSchedule(worker(), {
    ...held(offer),
    schedule_id,
    event: 'created',
  })
  await finish(gate, offer)
  return { schedule_id, receipt_id }
}
