import type { Claim, Command, Reclaim, Release } from '../core/command.ts'
import { Fault } from '../core/errors.ts'
import type { AnyQueueAnswer, QueueAnswer } from './commit-queue.ts'

/** Another system that has to record a change before the caller gets its answer. */
export interface Confirmation {
  /** Rejects with a Fault if the command must not be submitted now. */
  check(command: Command): Promise<void>
  /**
   * Resolves with the fault for the caller if the change of a task was not recorded in time; the change itself stays.
   * Undefined if this command needs no confirmation.
   */
  confirm(command: Command, taskId: string): Promise<Fault | undefined> | undefined
  /** How long a task that was claimed with this fault cannot be claimed again, in ms. */
  pauseMs(fault: Fault): number
}

type Submit = <C extends Command>(command: C) => Promise<QueueAnswer<C>>

/** Submits a command, and answers it once its change is confirmed. No transaction is open while that takes. */
export async function submitConfirmed(
  confirmation: Confirmation,
  command: Command,
  submit: Submit,
): Promise<AnyQueueAnswer> {
  await confirmation.check(command)
  if (command.verb === 'claim' || command.verb === 'reclaim') {
    return confirmedClaim(confirmation, command, await submit(command), submit)
  }
  const answer = await submit(command)
  const taskId = 'task_id' in command ? command.task_id : createdTask(answer)
  const fault = taskId === undefined ? undefined : await confirmation.confirm(command, taskId)
  if (fault !== undefined) throw fault
  return answer
}

function createdTask(answer: AnyQueueAnswer): string | undefined {
  return 'task_id' in answer ? answer.task_id : undefined
}

/** Leases whose claim is not confirmed are released, which uses neither an attempt nor an expiry. */
async function confirmedClaim(
  confirmation: Confirmation,
  command: Claim | Reclaim,
  claimed: QueueAnswer<Claim>,
  submit: Submit,
): Promise<QueueAnswer<Claim>> {
  const { tenant, holder, worker_id } = command
  const checked = await Promise.all(
    claimed.granted.map(async (handout) => ({
      handout,
      fault: await confirmation.confirm(command, handout.task.task_id),
    })),
  )
  const faults: Fault[] = []
  for (const { handout, fault } of checked) {
    if (fault === undefined) continue
    faults.push(fault)
    const { task_id } = handout.task
    const { lease_id } = handout.lease
    const release: Release = { verb: 'release', tenant, holder, worker_id, task_id, lease_id }
    await submit({ ...release, pause_ms: confirmation.pauseMs(fault) }).catch(ignoreEndedLease)
  }
  const granted = checked.flatMap(({ handout, fault }) => (fault === undefined ? [handout] : []))
  const temporary = faults.find(({ retryable }) => retryable)
  if (granted.length === 0 && temporary !== undefined) throw temporary
  return { granted, now: claimed.now }
}

function ignoreEndedLease(error: unknown): void {
  if (!(error instanceof Fault && error.code === 'LEASE_INVALID_OR_EXPIRED')) throw error
}
