import { z } from 'zod'
import { auditView } from '../features/audit/list-audit.ts'
import type { AuditAlerts } from '../features/audit/port.ts'
import type { AuditRow } from '../store/audit.ts'
import type { EntryDraft } from '../store/entries.ts'
import type { Store } from '../store/store.ts'

const KIND = 'security_alert'
const PAGE = 50

/** After this many conflicts with other processes, an update fails. */
const MAX_CONFLICTS = 20

const alertShape = z.object({
  /** The id of the first event, which is also that of the message. */
  id: z.string(),
  /** How often it happened. Failures that the audit log counts together count separately here. */
  count: z.int(),
  first_at: z.int(),
  last_at: z.int(),
  /** The first event, as the audit log shows it. */
  first: z.record(z.string(), z.unknown()),
})

/** Events of one kind and tenant that are reported together. */
export type Alert = z.output<typeof alertShape>

const stateShape = z.object({
  tenant: z.string(),
  event: z.string(),
  /** What is sent. It does not change until the receiver has accepted it, so that every attempt is the same. */
  sending: alertShape.nullable(),
  attempts: z.int(),
  /** What has happened since. */
  gathered: alertShape.nullable(),
  /** Nothing is sent before. */
  quiet_until: z.int(),
})

export type AlertState = z.output<typeof stateShape>

/**
 * Critical events that have to be reported, in entries of the store: one for each event of a tenant, however often it
 * happens. They belong to the tenant of the operator, who receives them.
 */
export class AlertQueue implements AuditAlerts {
  readonly #store: Pick<Store, 'entries'>
  readonly #operator: number
  readonly #now: () => number
  /** Called when there is something to send. */
  onAdded = () => {}

  constructor(store: Pick<Store, 'entries'>, operator: number, now: () => number) {
    this.#store = store
    this.#operator = operator
    this.#now = now
  }

  async add(tenant: string, rows: readonly AuditRow[]): Promise<void> {
    for (const [event, alert] of alertsOf(rows)) {
      await this.update(`${tenant} ${event}`, (known) => {
        const state = known ?? { tenant, event, sending: null, attempts: 0, gathered: null, quiet_until: 0 }
        const gathered = state.gathered === null ? alert : merged(state.gathered, alert)
        // The entry of an alert that is being sent is due when its next attempt is.
        const due_at = state.sending === null ? Math.max(state.quiet_until, this.#now()) : undefined
        return { state: { ...state, gathered }, due_at }
      })
    }
    this.onAdded()
  }

  /** The names and states of what is due, the most urgent first. */
  async due(): Promise<readonly { readonly name: string; readonly state: AlertState }[]> {
    const entries = await this.#store.entries.due(this.#operator, KIND, this.#now(), PAGE)
    return entries.map(({ name, value }) => ({ name, state: stateShape.parse(JSON.parse(value)) }))
  }

  /**
   * Changes a state, also if other processes do the same. `change` may be called repeatedly; undefined leaves
   * everything unchanged, and an undefined `due_at` only that. Resolves with whether the state was changed.
   */
  async update(
    name: string,
    change: (
      known: AlertState | undefined,
      due_at: number | null,
    ) => { readonly state: AlertState; readonly due_at: number | null | undefined } | undefined,
  ): Promise<boolean> {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts++) {
      const entry = await this.#store.entries.get(this.#operator, KIND, name)
      const known = entry && stateShape.parse(JSON.parse(entry.value))
      const next = change(known, entry?.due_at ?? null)
      if (next === undefined) return false
      const { state, due_at = entry?.due_at ?? null } = next
      const draft: EntryDraft = {
        ...{ tenant: this.#operator, kind: KIND, name, due_at },
        value: JSON.stringify(state),
      }
      if ((await this.#store.entries.put(draft, entry?.version ?? 0)) !== undefined) return true
    }
    throw new Error(`the security alert ${name} is changed by too many processes`)
  }
}

const counted = z.object({ count: z.int().positive() }).catch({ count: 1 })

/** The alerts about these events, by name of the event. */
function alertsOf(rows: readonly AuditRow[]): ReadonlyMap<string, Alert> {
  const alerts = new Map<string, Alert>()
  for (const row of rows) {
    const { id, at, event } = row
    const first = auditView(row)
    const { count } = counted.parse(first.details)
    const alert = { id, count, first_at: at, last_at: at, first: { ...first } }
    const known = alerts.get(event)
    alerts.set(event, known === undefined ? alert : merged(known, alert))
  }
  return alerts
}

function merged(one: Alert, other: Alert): Alert {
  return {
    ...one,
    count: one.count + other.count,
    first_at: Math.min(one.first_at, other.first_at),
    last_at: Math.max(one.last_at, other.last_at),
  }
}
