import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isParked, isTerminal, type Status } from '../../core/transitions.ts'
import { isAtRest } from '../../engine/wakeups.ts'
import { parse, taskId } from '../input.ts'
import { MAX_WAIT_SECONDS } from '../leases/claim.ts'
import type { Services } from '../services.ts'
import type { TaskView } from '../shapes.ts'
import { readableTask } from './get-task.ts'
import { outlook } from './outlook.ts'
import { viewOf } from './task-views.ts'

export const waitForTaskInput = z.strictObject({
  task_id: taskId,
  wait_seconds: z.number().min(0).max(MAX_WAIT_SECONDS).default(25),
  until: z.enum(['rest', 'done']).default('rest'),
})

export type WaitAnswer = TaskView & {
  readonly done: boolean
  readonly next_check_after_seconds: number
  /** Workers heard of lately that take the type. */
  readonly live_workers?: number | undefined
}

/**
 * The task as soon as it has ended or waits for an answer, or as it is when the wait is over. Until done: one that waits
 * for an answer is waited for, too.
 */
export async function waitForTask(
  engine: Services,
  caller: Caller,
  input: unknown,
  signal?: AbortSignal,
): Promise<WaitAnswer> {
  checkRole(caller, 'read')
  const { task_id, wait_seconds, until } = parse(waitForTaskInput, input)
  const isReached = until === 'done' ? isTerminal : isAtRest
  const { tenant } = await engine.tenant(caller.tenant)
  let isOver = false
  let wake = () => {}
  const stopWaiting = () => {
    isOver = true
    wake()
  }
  const timer = setTimeout(stopWaiting, wait_seconds * 1000)
  signal?.addEventListener('abort', stopWaiting)
  if (signal?.aborted) stopWaiting()
  // Watched before it is read, so that its end cannot fall in between.
  let isNews = false
  const unwatch = engine.wakeups.watch(tenant, task_id, () => {
    isNews = true
    wake()
  })
  try {
    let record = await readableTask(engine, caller, task_id)
    while (!isReached(record.task.status) && !isOver && !engine.wakeups.stopped) {
      await new Promise<void>((resolve) => {
        wake = resolve
        if (isNews || isOver) resolve()
      })
      isNews = false
      // A gate that stops answers with what it knows: its store is closing.
      if (!engine.wakeups.stopped) record = await readableTask(engine, caller, task_id)
    }
    const { status } = record.task
    const task = await viewOf(engine, record)
    engine.fetches.note(record.task, principalKey(caller.principal))
    return {
      ...task,
      ...(await outlook(engine, tenant, record.spec.type, task_id, status)),
      done: isTerminal(status),
      next_check_after_seconds: pauseAfter(status),
    }
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
