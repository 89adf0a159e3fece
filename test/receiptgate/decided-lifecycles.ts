import { admin, agent, type Bench, caller, worker } from '../support/gates.ts'
import { ARTIFACTS, ask, at, finish, held, hold, lease, refusal } from '../support/steps.ts'

const DAY = 24 * 3600

/**
 * Runs tasks with questions, deadlines, timeouts, schedules, blocking rules, new processes of a worker and cancellations
 * in every open state. Returns their ids by what happened to them, with the phases that ReceiptGate should have of each.
 */
export async function runDecidedLifecycles({ gate, clock }: Bench) {
  const parked = async (kind: 'approval' | 'input', more = {}) => {
    const offer = await hold(gate)
    const request = kind === 'approval' ? { title: 'Go on?' } : { message: 'Which one?' }
    const { n } = await gate.ask(worker(), { ...held(offer), kind, request, ...more })
    return { task_id: offer.task_id, n }
  }
  const cancel = ({ task_id }: { readonly task_id: string }) => gate.cancelTask(agent(), { task_id })

  const answered = await parked('input')
  await gate.answerQuestion(agent(), { ...answered, content: 'the second' })
  await finish(gate, await lease(gate))
  const approved = await parked('approval')
  await gate.approve(admin(), approved)
  await finish(gate, await lease(gate))
  const denied = await parked('approval')
  await gate.deny(admin(), { ...denied, reason: 'no' })
  const unanswered = await parked('input', { expires_in_seconds: 10 })
  const undecided = await parked('approval', { expires_in_seconds: 10 })
  clock.advance(10)
  await gate.sweep()

  const canceledLeased = await hold(gate)
  await cancel(canceledLeased)
  const canceledRunning = await hold(gate)
  await gate.startTask(worker(), held(canceledRunning))
  await cancel(canceledRunning)
  const canceledPending = await parked('approval')
  await cancel(canceledPending)
  const canceledAsking = await parked('input')
  await cancel(canceledAsking)
  const canceledDelayed = await ask(gate, { delay_seconds: 60 })
  await cancel(canceledDelayed)

  const timedOut = await hold(gate, { timeout_seconds: 5, max_attempts: 1 })
  clock.advance(5)
  await gate.sweep()
  const in10 = () => ({ deadline_at: new Date(clock.now + 10_000).toISOString() })
  const late = await hold(gate, in10())
  const neverClaimed = await ask(gate, { ...in10(), requirements: { capabilities: ['none'] } })
  clock.advance(10)
  await gate.sweep()

  const instance = (instance_id: string) => ({
    ...worker(),
    principal: { ...worker().principal, instance_id },
  })
  const reclaimed = await ask(gate)
  await gate.leaseNext(instance('one'), { worker_id: 'w1' })
  const { tasks } = await gate.leaseNext(instance('two'), { worker_id: 'w1', reclaim: true })
  const again = held(at(tasks, 0))
  await gate.complete(instance('two'), { ...again, result: 1, artifacts: ARTIFACTS })

  const { task_id: schedule_id } = await ask(gate, { type: 'schedule.create', payload: {} })
  const scheduling = await lease(gate)
  const schedule = { name: 'nightly', kind: 'interval', interval_seconds: DAY }
  const event = { schedule_id, event: 'created', schedule } as const
  await gate.recordSchedule(worker(), { ...held(scheduling), ...event })
  await finish(gate, scheduling)
  const run = await hold(gate, { labels: { schedule_id } })
  await finish(gate, run)

  await gate.putPolicy(admin(), { id: 'no', action: 'BLOCK', scope: { type: 'forbidden' } })
  const { details } = await refusal(ask(gate, { type: 'forbidden' }))
  const blocked = { task_id: String(Object(details).task_id) }
  await gate.leaseNext(caller('worker', 'w9', 'worker'), { worker_id: 'w9' })

  const [ended, unclaimed] = [['accepted', 'complete'], ['complete']]
  const expected: Readonly<Record<string, readonly [{ readonly task_id: string }, readonly string[]]>> = {
    answered: [answered, ended],
    approved: [approved, ended],
    denied: [denied, ended],
    unanswered: [unanswered, ended],
    undecided: [undecided, ended],
    canceledLeased: [canceledLeased, ended],
    canceledRunning: [canceledRunning, ended],
    canceledPending: [canceledPending, ended],
    canceledAsking: [canceledAsking, ended],
    canceledDelayed: [canceledDelayed, unclaimed],
    timedOut: [timedOut, ['accepted', 'escalate', 'complete']],
    late: [late, ended],
    neverClaimed: [neverClaimed, unclaimed],
    reclaimed: [reclaimed, ended],
    scheduling: [scheduling, ended],
    run: [run, ended],
    blocked: [blocked, unclaimed],
  }
  return expected
}
