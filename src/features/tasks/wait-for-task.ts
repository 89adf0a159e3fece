import { z } from 'zod'
import { principalKey } from '../../core/principal.ts'
import { isParked, isTerminal, type Status } from '../../core/transitions.ts'
import { isAtRest } from '../../engine/wakeups.ts'
import { defineOperation } from '../define-operation.ts'
import { MAX_WAIT_SECONDS, taskId } from '../input.ts'
import { liveWorkers, outlook } from './outlook.ts'
import { readableTask } from './read-task.ts'
import { taskShape } from './shape.ts'
import { taskSummary } from './summary.ts'
import { viewOf } from './view.ts'

const waitedShape = taskShape.extend({
  done: z.boolean().describe('Whether the task has ended'),
  next_check_after_seconds: z.number().describe('Seconds after which to call again; 0 if the task has ended'),
  live_workers: liveWorkers,
})

export type WaitAnswer = z.output<typeof waitedShape>

export const waitForTask = defineOperation({
  name: 'wait_for_task',
  title: 'Wait for a task to end',
  description:
    'Waits up to wait_seconds (at most 50) for the task to end, and returns the task. If done is false the task is still in progress: call again after next_check_after_seconds, or do something else meanwhile. ' +
    'It returns early when the task is pending_approval or input_required: question says what the task is waiting for. Inform the people in charge, or send the input with answer_question. ' +
    'With until: done it keeps waiting in that case, until the task has ended.',
  input: z.strictObject({
    task_id: taskId,
    wait_seconds: z
      .number()
      .min(0)
      .max(MAX_WAIT_SECONDS)
      .default(25)
      .describe('Maximum time to wait, in seconds'),
    until: z
      .enum(['rest', 'done'])
      .default('rest')
      .describe(
        'rest: return when the task has ended or is waiting for approval or input; done: only when it has ended',
      ),
  }),
  output: waitedShape,
  access: 'read',
  toolsets: ['agent'],
  summary: taskSummary,
  rest: { method: 'GET', path: '/v1/tasks/{task_id}/wait' },
  example: { task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c', principal_id: 'planner', wait_seconds: 50 },
  async run(services, caller, { task_id, wait_seconds, until }, signal) {
    const { engine, fetches } = services
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
    // Watched before it is read, so that no change in between is missed.
    let hasChanged = false
    const unwatch = engine.wakeups.watch(tenant, task_id, () => {
      hasChanged = true
      wake()
    })
    try {
      let record = await readableTask(engine, caller, task_id)
      while (!isReached(record.task.status) && !isOver && !engine.wakeups.stopped) {
        await new Promise<void>((resolve) => {
          wake = resolve
          if (hasChanged || isOver) resolve()
        })
        hasChanged = false
        // A server that stops returns the state that it knows, because its store is closing.
        if (!engine.wakeups.stopped) record = await readableTask(engine, caller, task_id)
      }
      const { status } = record.task
      const task = await viewOf(services, record)
      fetches.note(record.task, principalKey(caller.principal))
      return {
        ...task,
        ...(await outlook(services, tenant, record.spec.type, task_id, status)),
        done: isTerminal(status),
        next_check_after_seconds: pauseAfter(status),
      }
    } finally {
      unwatch()
      clearTimeout(timer)
      signal?.removeEventListener('abort', stopWaiting)
    }
  },
})

/** A person takes longer to answer than a worker. */
const PARKED_PAUSE_SECONDS = 10

function pauseAfter(status: Status): number {
  if (isTerminal(status)) return 0
  return isParked(status) ? PARKED_PAUSE_SECONDS : 1
}
