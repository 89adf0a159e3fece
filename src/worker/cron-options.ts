export interface ScheduleOwner {
  /** The agent that owns the schedules and the tasks of their runs; `schedules` by default. */
  readonly agent?: string
  /** The key of that agent, if the key of the worker cannot create tasks. */
  readonly key?: string
}

/** When the tasks of a type are created. */
export interface CronOptions {
  /** A cron expression, such as `0 6 * * *`. False deletes the schedule that an earlier version of the code has created. */
  readonly cron?: string | false | undefined
  /** The time zone of `cron`, such as `Europe/Berlin`; UTC by default. */
  readonly timezone?: string | undefined
  /** The payload of scheduled tasks; see docs/schedules.md for placeholders. An empty object by default. */
  readonly cronPayload?: unknown
}

/** The schedule of a task; undefined if its code says nothing about one. Throws if an option has the wrong type. */
export function cronOptions(
  name: string,
  { cron, timezone, cronPayload }: CronOptions,
): CronOptions | undefined {
  if (cron === undefined) {
    if (timezone === undefined && cronPayload === undefined) return undefined
    throw new TypeError(`Task "${name}": timezone and cronPayload need cron.`)
  }
  if (cron !== false && (typeof cron !== 'string' || cron.trim() === '')) {
    throw new TypeError(`Task "${name}": cron must be a cron expression, such as "0 6 * * *", or false.`)
  }
  return { cron, timezone, cronPayload }
}
