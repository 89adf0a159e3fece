import type { PrincipalKey } from '../core/principal.ts'
import type { Entries, Entry } from '../store/entries.ts'
import type { Schedule } from './schedule.ts'
import type { ScheduleStore, Settlement } from './store.ts'

const KIND = 'schedule_plan'
const PAGE = 200

/** How far ahead the next due schedule is looked for. The ticker checks at least this often. */
const AHEAD_MS = 1_000
const MAX_DUE = 1_000

interface Found {
  readonly schedule: Schedule
  readonly version: number
}

/** The schedules of a tenant in the database of the server, which all servers share. */
export function entryScheduleStore(entries: Entries, tenant: number): ScheduleStore {
  const find = async (id: string): Promise<Found | undefined> => {
    const entry = await entries.get(tenant, KIND, id)
    return entry && foundIn(entry)
  }
  const put = (schedule: Schedule, expected: number): Promise<number | undefined> => {
    const { schedule_id: name, status } = schedule
    const due_at = status === 'enabled' ? schedule.due_at : null
    return entries.put({ tenant, kind: KIND, name, due_at, value: JSON.stringify(schedule) }, expected)
  }
  /** Applies a change to the newest version. `change` returns undefined if there is nothing to change. */
  const update = async (id: string, change: (schedule: Schedule) => Partial<Schedule> | undefined) => {
    for (;;) {
      const found = await find(id)
      const changes = found && change(found.schedule)
      if (found === undefined || changes === undefined) return
      if ((await put({ ...found.schedule, ...changes }, found.version)) !== undefined) return
    }
  }
  async function* all(after: string): AsyncGenerator<Schedule> {
    for (let from = after; ; ) {
      const page = await entries.list(tenant, KIND, from, PAGE)
      for (const entry of page) yield foundIn(entry).schedule
      if (page.length < PAGE) return
      from = page.at(-1)?.name ?? from
    }
  }
  const list = async (owner: PrincipalKey, after: string, limit: number): Promise<Schedule[]> => {
    const found: Schedule[] = []
    for await (const schedule of all(after)) {
      if (schedule.owner === owner) found.push(schedule)
      if (found.length === limit) break
    }
    return found
  }
  return {
    async add(schedule) {
      await put(schedule, 0)
    },
    get: async (id) => (await find(id))?.schedule,
    list,
    count: async (owner) => (await list(owner, '', Number.POSITIVE_INFINITY)).length,
    due: async (now) => (await entries.due(tenant, KIND, now, MAX_DUE)).map(({ name }) => name),
    async nextDueAt(now) {
      const soon = await entries.due(tenant, KIND, now + AHEAD_MS, MAX_DUE)
      return soon.find(({ due_at }) => due_at !== null && due_at > now)?.due_at ?? null
    },
    settle: (id, settlement: Settlement) =>
      update(id, ({ settled_until }) => (settled_until < settlement.settled_until ? settlement : undefined)),
    note: (id, last_status) => update(id, () => ({ last_status })),
    noteStale: (id, stale_run_at) => update(id, () => ({ stale_run_at })),
    pause: (id) => update(id, () => ({ status: 'paused' })),
    resume: (id, from) =>
      update(id, ({ status }) => (status === 'paused' ? { ...from, status: 'enabled' } : undefined)),
    async remove(id) {
      await entries.remove(tenant, KIND, id)
    },
    close() {},
  }
}

function foundIn({ value, version }: Entry): Found {
  const schedule: Schedule = JSON.parse(value)
  return { schedule, version }
}
