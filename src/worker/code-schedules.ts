import { GateError } from '../client/gate-error.ts'
import { type Client, client, WaitTimeout } from '../client/index.ts'
import type { GateAddress } from '../client/transport.ts'
import type { CronOptions, ScheduleOwner } from './cron-options.ts'
import type { WorkerLog } from './log.ts'
import type { TaskDefinition } from './task.ts'

const DEFAULT_AGENT = 'schedules'

/** How long to wait for the scheduler before a warning. */
const WAIT_MS = 30_000

/** Each step follows a schedule of the same plan that was deleted since. */
const MAX_STEPS = 100

/** Creates, replaces and deletes the schedules of tasks with `cron`. A failure is logged and never stops the worker. */
export class CodeSchedules {
  readonly #definitions: readonly TaskDefinition[]
  readonly #gate: Client
  readonly #log: WorkerLog

  constructor(
    definitions: Iterable<TaskDefinition>,
    owner: ScheduleOwner | undefined,
    { url, key, headers, fetch }: GateAddress,
    log: WorkerLog,
  ) {
    this.#definitions = [...definitions].filter(({ schedule }) => schedule?.cron !== undefined)
    const own = owner?.key ?? key
    this.#gate = client({
      url,
      ...(own !== undefined && { key: own }),
      ...(headers && { headers }),
      ...(fetch && { fetch }),
      // A key of its own already names the agent.
      ...(owner?.key === undefined && { agent: owner?.agent ?? DEFAULT_AGENT }),
    })
    this.#log = log
  }

  async register(signal: AbortSignal): Promise<void> {
    for (const definition of this.#definitions) {
      try {
        await this.#apply(definition, signal)
      } catch (error) {
        if (signal.aborted) return
        const isForbidden = error instanceof GateError && error.code === 'FORBIDDEN'
        const hint = isForbidden ? '; set schedules: { key } to the key of an agent' : ''
        this.#log.warn({ error, type: definition.name }, `a schedule was not registered${hint}`)
      }
    }
  }

  async #apply({ name, schedule = {} }: TaskDefinition, signal: AbortSignal): Promise<void> {
    const plan = planOf(name, schedule)
    const wanted = plan && stable(plan)
    const stale: string[] = []
    let isPresent = false
    for (const { schedule_id, plan: found } of await this.#existing(name, signal)) {
      if (found === wanted && !isPresent) isPresent = true
      else stale.push(schedule_id)
    }
    if (plan !== undefined && !isPresent) {
      // The earlier schedule is deleted only when its successor exists.
      if (!(await this.#create(name, plan, signal))) return
      this.#log.info({ type: name, cron: plan.cron_expr }, 'a schedule was registered')
    }
    for (const schedule_id of stale) {
      await this.#gate.submit('schedule.delete', { schedule_id }, { signal })
      this.#log.info({ type: name, schedule_id }, 'an earlier schedule is deleted')
    }
  }

  async #existing(type: string, signal: AbortSignal) {
    const found: { schedule_id: string; plan: string }[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await this.#gate.listSchedules({ cursor }, { signal })
      for (const { schedule_id, name } of page.schedules) {
        if (name !== nameOf(type)) continue
        const detail = await this.#gate.getSchedule({ schedule_id }, { signal })
        const { mode, cron_expr, timezone, task_template } = detail
        found.push({ schedule_id, plan: stable({ name, mode, cron_expr, timezone, task_template }) })
      }
      if (page.next_cursor === null) return found
      cursor = page.next_cursor
    }
  }

  /** Workers that start at the same time use the same key and create one schedule. False if no scheduler has responded. */
  async #create(type: string, plan: Plan, signal: AbortSignal): Promise<boolean> {
    const hash = await digest(stable(plan))
    for (let step = 0, after = ''; step < MAX_STEPS; step++) {
      const idempotency_key = `schedule in code:${hash}:${after}`
      const submitted = await this.#gate.submit('schedule.create', plan, { idempotency_key, signal })
      const ended = await submitted.wait({ timeoutMs: WAIT_MS, signal }).catch((error: unknown) => {
        if (error instanceof WaitTimeout) return undefined
        throw error
      })
      if (ended === undefined) {
        this.#log.warn(
          { type },
          'a schedule waits for a scheduler: start one, or set ASYNCGATE_SCHEDULER=embedded',
        )
        return false
      }
      if (ended.status === 'succeeded' && (await this.#isThere(submitted.id, signal))) return true
      if (!submitted.isDuplicate) {
        this.#log.error({ type, error: ended.result?.error }, 'a schedule was refused')
        return false
      }
      after = submitted.id
    }
    return false
  }

  async #isThere(schedule_id: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#gate.getSchedule({ schedule_id }, { signal })
      return true
    } catch (error) {
      if (error instanceof GateError && error.code === 'SCHEDULE_NOT_FOUND') return false
      throw error
    }
  }
}

type Plan = NonNullable<ReturnType<typeof planOf>>

function planOf(type: string, { cron, timezone = 'UTC', cronPayload = {} }: CronOptions) {
  if (typeof cron !== 'string') return undefined
  const task_template = { type, payload_template: cronPayload, labels: { scheduled_by: 'code' } }
  return { name: nameOf(type), mode: 'cron', cron_expr: cron, timezone, task_template } as const
}

/** Distinguishes these schedules from those that the agent has created otherwise. */
function nameOf(type: string): string {
  return `code: ${type}`
}

/** JSON whose members are sorted, to compare values. */
function stable(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
