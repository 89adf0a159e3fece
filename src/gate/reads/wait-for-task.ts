import { z } from 'zod'
import { checkRole } from '../../core/policy.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isParked, isTerminal, type Status } from '../../core/transitions.ts'
import type { Engine } from '../engine.ts'
import { parse, taskId } from '../input.ts'
import { statusShape, type TaskView } from '../shapes.ts'
import { viewOf } from '../task-views.ts'
import { MAX_WAIT_SECONDS } from '../verbs/claim.ts'
import { isAtRest } from '../wakeups.ts'
import { readableTask } from './get-task.ts'

export const waitForTaskInput = z.strictObject({
  task_id: taskId,
  wait_seconds: z.number().min(0).max(MAX_WAIT_SECONDS).default(25),
  known_status: statusShape.optional().meta({
    description:
      'The status that you have seen: a task that waits for an answer is then waited for until it goes on',
  }),
})

export type WaitAnswer = TaskView & { readonly done: boolean; readonly next_check_after_seconds: number }

/**
 * The task as soon as it has ended or waits for an answer, or as it is when the wait is over. Who knows already that it
 * waits for an answer hears when it no longer does.
 */
export async function waitForTask(
  engine: Engine,
  caller: Caller,
  input: unknown,
  signal?: AbortSignal,
): Promise<WaitAnswer> {
  checkRole(caller, 'read')
  const { task_id, wait_seconds, known_status } = parse(waitForTaskInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  let stopWaiting = () => {}
  const over = new Promise<void>((resolve) => {
    stopWaiting = resolve
  })
  const timer = setTimeout(stopWaiting, wait_seconds * 1000)
  signal?.addEventListener('abort', stopWaiting)
  if (signal?.aborted) stopWaiting()
  let isOver = false
  void over.then(() => {
    isOver = true
  })
  let wake = () => {}
  const known = known_status !== undefined && isParked(known_status) ? known_status : undefined
  // Watched before it is read, so that its end cannot fall in between.
  const unwatch =
    known === undefined
      ? engine.wakeups.watch(tenant, task_id, stopWaiting)
      : engine.wakeups.watchChanges(tenant, task_id, () => wake())
  try {
    let changed = nextCall((call) => (wake = call))
    let record = await readableTask(engine, caller, task_id)
    // What ends the wait may have happened during the read, so there is always another one behind it.
    for (let isLast = false; isOpenWait(record.task.status, known) && !engine.wakeups.stopped && !isLast; ) {
      await Promise.race([over, changed])
      // A gate that stops answers with what it knows: its store is closing.
      if (engine.wakeups.stopped) break
      isLast = isOver
      changed = nextCall((call) => (wake = call))
      record = await readableTask(engine, caller, task_id)
    }
    const { status } = record.task
    const task = await viewOf(engine, record)
    engine.fetches.note(record.task, principalKey(caller.principal))
    return { ...task, done: isTerminal(status), next_check_after_seconds: pauseAfter(status) }
  } finally {
    unwatch()
    clearTimeout(timer)
    signal?.removeEventListener('abort', stopWaiting)
  }
}

/** A person who has to answer takes longer than a worker. */
const PARKED_PAUSE_SECONDS = 10

function pauseAfter(status: Status): number {
  if (isTerminal(status)) return 0
  return isParked(status) ? PARKED_PAUSE_SECONDS : 1
}

/** Whether there is nothing to tell yet. */
function isOpenWait(status: Status, known: Status | undefined): boolean {
  return known === undefined ? !isAtRest(status) : status === known
}

/** Resolves when the function that is handed out is called. */
function nextCall(hand: (call: () => void) => void): Promise<void> {
  return new Promise((resolve) => hand(resolve))
}
