import { expect, it } from 'vitest'
import { admin, agent, caller, describeGates } from '../../support/gates.ts'
import {
  ask,
  at,
  failTask,
  finish,
  hold,
  lease,
  look,
  openTasks,
  receiptsOf,
  refusal,
  statusOf,
} from '../../support/steps.ts'

const input = {
  type: 'report',
  principal_ai: 'bob',
  payload: { n: 1 },
  payload_pointer: 's3://bucket/key',
  summary: 'S',
  body: 'B',
  inputs: { i: 1 },
  requirements: { capabilities: ['gpu'], tags: ['t'] },
  priority: 3,
  max_attempts: 4,
  max_expiries: 5,
  retry_backoff_seconds: 6,
  timeout_seconds: 7,
  session_id: 's',
  labels: { a: 'b' },
}

describeGates('retry_task', (open) => {
  it('retry_task creates a new task with the same input, caused by the end of the original', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { ...input, idempotency_key: 'k' }, { capabilities: ['gpu'] })
    const { receipt_id } = await failTask(gate, offer)
    const answer = await gate.retryTask(agent(), { task_id: offer.task_id })
    expect(answer).toMatchObject({ status: 'queued', is_duplicate: false })
    expect(answer.task_id).not.toBe(offer.task_id)
    const { timeout_seconds, ...shown } = input
    expect(await look(gate, answer)).toMatchObject({
      ...shown,
      attempt: 0,
      idempotency_key: null,
      created_by: { kind: 'agent', id: 'alice' },
      caused_by_receipt_id: receipt_id,
    })
    expect(at(await receiptsOf(gate, answer), 0).parents).toEqual([receipt_id])
    expect(await lease(gate, { capabilities: ['gpu'] })).toMatchObject({
      task_id: answer.task_id,
      timeout_seconds,
    })
    expect(await statusOf(gate, offer)).toBe('failed')
    expect(await openTasks(gate)).toEqual([answer.task_id])
  })

  it('retry_task creates one task for all calls with one idempotency key', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { ...input, idempotency_key: 'k' }, { capabilities: ['gpu'] })
    const { task_id } = offer
    await failTask(gate, offer)
    const again = { task_id, idempotency_key: 'again' }
    const answers = await Promise.all(Array.from({ length: 5 }, () => gate.retryTask(agent(), again)))
    const [first] = answers
    expect(new Set(answers.map((answer) => answer.task_id)).size).toBe(1)
    expect(answers.filter((answer) => !answer.is_duplicate)).toHaveLength(1)
    expect(await gate.retryTask(admin(), again)).toMatchObject({
      task_id: first?.task_id,
      is_duplicate: true,
    })
    expect(await openTasks(gate)).toEqual([first?.task_id])
    // The key belongs to the owner, who has used it for another task.
    expect(await refusal(gate.retryTask(agent(), { task_id, idempotency_key: 'k' }))).toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    })
  })

  it('retry_task works for a canceled task, and for a retry itself', async () => {
    const { gate } = await open()
    const first = await ask(gate)
    await gate.cancelTask(agent(), { task_id: first.task_id })
    const second = await gate.retryTask(agent(), { task_id: first.task_id })
    await gate.cancelTask(agent(), { task_id: second.task_id })
    const third = await gate.retryTask(agent(), { task_id: second.task_id })
    const [, canceled] = await receiptsOf(gate, second)
    expect(await look(gate, third)).toMatchObject({ caused_by_receipt_id: canceled?.receipt_id, type: 'job' })
  })

  it('retry_task is refused for a task that is open or has succeeded', async () => {
    const { gate } = await open()
    const queued = await ask(gate, { type: 'waits' })
    const offer = await hold(gate, {}, { accept_types: ['job'] })
    const retry = ({ task_id }: { task_id: string }) => refusal(gate.retryTask(agent(), { task_id }))
    const no = (task_status: string) => ({ code: 'INVALID_STATE_TRANSITION', details: { task_status } })
    expect(await retry(queued)).toMatchObject(no('queued'))
    expect(await retry(offer)).toMatchObject(no('leased'))
    await finish(gate, offer)
    expect(await retry(offer)).toMatchObject(no('succeeded'))
    expect(await openTasks(gate)).toEqual([queued.task_id])
  })

  it('retry_task is allowed for the owner and admins, and the owner stays the owner', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await failTask(gate, offer)
    expect(await refusal(gate.retryTask(agent('bob'), { task_id: offer.task_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    for (const by of [admin(), caller('service', 'cron', 'system')]) {
      const again = await gate.retryTask(by, { task_id: offer.task_id })
      expect(await look(gate, again)).toMatchObject({
        created_by: { kind: 'agent', id: 'alice' },
        principal_ai: 'alice',
      })
    }
  })

  it('retry_task does not find a missing task or one of another tenant', async () => {
    const { gate } = await open()
    const theirs = await ask(gate, {}, agent('alice', 'other'))
    await gate.cancelTask(agent('alice', 'other'), { task_id: theirs.task_id })
    for (const task_id of [theirs.task_id, '01234567-89ab-7def-8123-456789abcdef', 'nonsense']) {
      expect(await refusal(gate.retryTask(admin(), { task_id }))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    }
  })

  it('retry_task counts against the quota', async () => {
    const { gate } = await open({ settings: { max_active_tasks: 1 } })
    const first = await ask(gate)
    await gate.cancelTask(agent(), { task_id: first.task_id })
    await ask(gate)
    expect(await refusal(gate.retryTask(agent(), { task_id: first.task_id }))).toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
  })
})
