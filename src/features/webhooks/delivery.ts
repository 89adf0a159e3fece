import { z } from 'zod'
import type { CanonicalJson } from '../../core/json/json.ts'
import { isOpen } from '../../core/task.ts'
import { isoOrNull } from '../../core/time.ts'
import type { Entry } from '../../store/entries.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { Store } from '../../store/store.ts'
import type { TaskTypes } from '../task-types/task-types.ts'
import { storedInput } from '../tasks/task-input.ts'
import type { webhookShape } from './webhook-url.ts'

/** The kind of the entries that hold deliveries. Their name is the id of the task. */
export const DELIVERY_KIND = 'task_webhook'

/** How long a delivery is shown after it has succeeded or failed. */
export const SHOWN_MS = 30 * 24 * 3600 * 1000

const deliveryShape = z.object({
  url: z.string(),
  /** The message, which is the same for every attempt. */
  body: z.string(),
  /** Its webhook-id. */
  id: z.string(),
  state: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.int(),
  delivered_at: z.number().nullable(),
  /** Why the last attempt failed. */
  error: z.string().nullable(),
})

/** The delivery of the completion webhook of one task. */
export type Delivery = z.output<typeof deliveryShape>

export function deliveryOf({ value }: Pick<Entry, 'value'>): Delivery {
  return deliveryShape.parse(JSON.parse(value))
}

interface WebhookDeps {
  readonly engine: {
    readonly store: Pick<Store, 'entries' | 'now'>
    reading<T>(read: () => Promise<T>): Promise<T>
  }
  readonly taskTypes: TaskTypes
}

/** The URL that the task itself names. Most tasks name none, and their input is not parsed. */
export function ownWebhookUrl(input: CanonicalJson): string | undefined {
  return input.includes('"webhook_url":') ? storedInput(input).webhook_url : undefined
}

/** The URL of the completion webhook of a task: its own, or that of its type. */
export async function webhookUrlOf(
  taskTypes: TaskTypes,
  tenant: number,
  type: string,
  own: string | undefined,
): Promise<string | undefined> {
  if (own !== undefined) return own
  const table = taskTypes.known(tenant) ?? (await taskTypes.load(tenant))
  return table.rules.get(type)?.view.webhook_url ?? undefined
}

/** What became of the completion webhook of a task; undefined if it has none, or if it ended long ago. */
export async function webhookView(
  { engine, taskTypes }: WebhookDeps,
  { task, spec }: TaskRecord,
): Promise<z.output<typeof webhookShape>> {
  const own = ownWebhookUrl(spec.input)
  const url = await webhookUrlOf(taskTypes, task.tenant, spec.type, own)
  if (isOpen(task)) return url === undefined ? undefined : { ...NOT_SENT, url, state: 'waiting' }
  if (url === undefined) return undefined
  const { store } = engine
  const entry = await engine.reading(() => store.entries.get(task.tenant, DELIVERY_KIND, task.task_id))
  if (entry === undefined) {
    const isRecent = (await store.now()) < task.outcome.completed_at + SHOWN_MS
    return isRecent ? { ...NOT_SENT, url, state: 'pending' } : undefined
  }
  const { state, attempts, error, delivered_at, url: used } = deliveryOf(entry)
  return {
    url: used,
    state,
    attempts,
    next_attempt_at: state === 'pending' ? isoOrNull(entry.due_at) : null,
    delivered_at: isoOrNull(delivered_at),
    error,
  }
}

const NOT_SENT = { attempts: 0, next_attempt_at: null, delivered_at: null, error: null } as const
