import { z } from 'zod'
import { checkRole, seesAll } from '../../core/authorization.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { TaskEvent } from '../../engine/events.ts'
import { parse, taskId, text, workerId } from '../input.ts'
import type { Services } from '../services.ts'
import { statusShape } from '../shapes.ts'
import { readableTask } from './get-task.ts'

export const followInput = z.strictObject({
  task_id: taskId.optional(),
  session_id: text(255).optional(),
  worker_id: workerId.optional(),
  status: statusShape.optional(),
})

export const changeShape = z.object({
  task_id: z.string(),
  type: z.string(),
  status: statusShape,
  principal_ai: z.string(),
  worker_id: z.string().nullable(),
  fence: z.int().meta({
    description: 'How many leases the task has had: with the task_id, it tells which lease is meant',
  }),
  at: z.iso.datetime(),
})

export type ChangeView = z.output<typeof changeShape>
export type ChangeListener = (change: ChangeView) => void

/** Tells of changes as they commit, in order: those that fit the filter, of tasks that the caller may see. */
export async function follow(
  engine: Services,
  caller: Caller,
  input: unknown,
  listener: ChangeListener,
): Promise<() => void> {
  checkRole(caller, 'read')
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
  const tell = (event: TaskEvent) => listener(changeView(event))
  const { session_id } = asked
  if (session_id === undefined) return engine.events.onAnyTask((event) => fits(event) && tell(event))

  const sessions = new Sessions(engine)
  let before: Promise<unknown> = Promise.resolve()
  return engine.events.onAnyTask((event) => {
    if (!fits(event)) return
    // One after the other, so that a look-up does not let a later change overtake.
    before = Promise.all([before, sessions.of(event)])
      .then(([, session]) => session === session_id && tell(event))
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

/** Which session a task belongs to: from the event, else looked up once. */
class Sessions {
  readonly #engine: Services
  readonly #known = new Map<string, string | null>()

  constructor(engine: Services) {
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
