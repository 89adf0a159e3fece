import { agent, type Bench, worker } from '../support/gates.ts'
import { ARTIFACTS, ask, expire, failTask, finish, held, hold, lease } from '../support/steps.ts'

/** Evidence that a result cannot be found. */
const NOWHERE = { result: { ok: 1 }, artifacts: undefined }

/** Runs tasks through every kind of end, with escalation enabled. Returns their ids by what happened to them. */
export async function runLifecycles({ gate, clock }: Bench) {
  const succeeded = await hold(gate, { summary: 'TBD', payload: { text: 'grüße'.repeat(20_000) } })
  await finish(gate, succeeded, { result_summary: 'Done' })

  const large = await hold(gate, { principal_ai: 'NA', body: 'é'.repeat(50_000) })
  await finish(gate, large, { result: { text: '語'.repeat(20_000) }, result_summary: 'x'.repeat(1000) })

  const unlocated = await hold(gate)
  await finish(gate, unlocated, NOWHERE)

  const repaired = await hold(gate)
  await finish(gate, repaired, NOWHERE)
  await finish(gate, repaired, { ...NOWHERE, artifacts: [{ pointer: 'depot://1', mime: '' }] })

  const canceled = await ask(gate)
  await gate.cancelTask(agent(), { task_id: canceled.task_id, reason: 'not needed' })

  const canceledLater = await hold(gate)
  await gate.cancelTask(agent(), { task_id: canceledLater.task_id })

  const failed = await hold(gate)
  await failTask(gate, failed, { retryable: false })

  const exhausted = await hold(gate, { max_attempts: 2, retry_backoff_seconds: 0 })
  await failTask(gate, exhausted, { retryable: true })
  await failTask(gate, await lease(gate), { retryable: true, error: { code: 'AGAIN' } })

  const released = await hold(gate)
  await gate.releaseLease(worker(), held(released))
  await finish(gate, await lease(gate))

  const progressing = await hold(gate)
  await gate.startTask(worker(), held(progressing))
  await gate.reportProgress(worker(), { ...held(progressing), progress: { percent: 50 } })
  await finish(gate, progressing)

  const expired = await hold(gate)
  await expire(gate, clock)
  await gate.sweep()
  const again = await lease(gate, {}, worker('w2'))
  const evidence = { result: { n: 2 }, artifacts: ARTIFACTS }
  await gate.complete(worker('w2'), { ...held(again, 'w2'), ...evidence })

  const lost = await hold(gate, { max_expiries: 1 })
  await expire(gate, clock)

  const open = await hold(gate)
  return {
    ...{ succeeded, large, unlocated, repaired, canceled, canceledLater, failed, exhausted, released },
    ...{ progressing, expired, lost, open },
  }
}
