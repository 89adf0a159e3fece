import { z } from 'zod'
import { checkPermission, seesAll } from '../../core/authorization.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskEvent } from '../../engine/events.ts'
import { parse, taskId, text, time, workerId } from '../input.ts'
import { readableTask } from './read-task.ts'
import { statusShape } from './shape.ts'

export const followInput = z.strictObject({
  task_id: taskId.optional().describe('Only changes of this task'),
  session_id: text(255).optional().describe('Only changes of tasks with this session_id'),
  worker_id: workerId.optional().describe('Only changes of tasks that this worker holds or held'),
  status: statusShape.optional().describe('Only changes to this status'),
})

export const changeShape = z.object({
  task_id: z.string().describe('Id of the task'),
  type: z.string().describe('Type of the task'),
  status: statusShape.describe('Status after the change'),
  principal_ai: z.string().describe('Agent on whose behalf the task is done'),
  worker_id: z.string().nullable().describe('Worker that holds or held the task; null if none did'),
  fence: z
    .int()
    .describe('Number of leases that the task has had. Together with task_id it identifies a lease'),
  at: time.describe('Time of the change'),
})

export type ChangeView = z.output<typeof changeShape>
export type ChangeListener = (change: ChangeView) => void

/**
 * Calls the listener for each matching change of a task that the caller may see, in commit order. Resolves with an
 * unsubscribe function.
 */
export async function follow(
  engine: Engine,
  caller: Caller,
  input: unknown,
  listener: ChangeListener,
): Promise<() => void> {
  checkPermission(caller, 'read')
  const asked = parse(followInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  if (asked.task_id !== undefined) await readableTask(engine, caller, asked.task_id)
  await engine.relay.follow()
  const self = principalKey(caller.principal)
  const all = seesAll(caller.role)
  const fits = (event: TaskEvent) =>
    event.tenant === tenant &&
    (all || event.owner === self || `agent:${event.principal_ai}` === self || event.holder === self) &&
    (asked.task_id === undefined || event.task_id === asked.task_id) &&
    (asked.worker_id === undefined || event.worker_id === asked.worker_id) &&
    (asked.status === undefined || event.status === asked.status)
  const notify = (event: TaskEvent) => listener(changeView(event))
  const { session_id } = asked
  if (session_id === undefined) return engine.events.onAnyTask((event) => fits(event) && notify(event))

  const sessions = new Sessions(engine)
  let before: Promise<unknown> = Promise.resolve()
  return engine.events.onAnyTask((event) => {
    if (!fits(event)) return
    // In sequence, so that no change overtakes an earlier one that needs a lookup.
    before = Promise.all([before, sessions.of(event)])
      .then(([, session]) => session === session_id && notify(event))
      .catch((error) => engine.report(error))
  })
}

function changeView(event: TaskEvent): ChangeView {
  return {
    task_id: event.task_id,
    type: event.type,
    status: event.status,
    principal_ai: event.principal_ai,
    worker_id: event.worker_id,
    fence: event.fence,
    at: isoTime(event.at),
  }
}

const MAX_REMEMBERED = 10_000

/** The session_id of tasks: from the event if it has one, otherwise looked up once. */
class Sessions {
  readonly #engine: Engine
  readonly #known = new Map<string, string | null>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async of({ tenant, task_id, session_id, status }: TaskEvent): Promise<string | null> {
    const known = session_id === undefined ? this.#known.get(task_id) : session_id
    const session = known === undefined ? await this.#lookUp(tenant, task_id) : known
    if (isTerminal(status)) this.#known.delete(task_id)
    else this.#remember(task_id, session)
    return session
  }

  async #lookUp(tenant: number, taskId: string): Promise<string | null> {
    const record = await this.#engine.reading(() => this.#engine.store.reads.task(tenant, taskId))
    return record?.spec.session_id ?? null
  }

  #remember(taskId: string, session: string | null): void {
    this.#known.set(taskId, session)
    if (this.#known.size <= MAX_REMEMBERED) return
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest)
      return
    }
  }
}
