import { STATUSES } from '../../core/transitions.ts'
import type { Hint, HintedChange } from '../store.ts'

/** A payload must be shorter than 8,000 bytes. All our characters have one byte. */
const MAX_PAYLOAD = 7_900
/** Lanes, tasks and changes per part of a hint: a part is well below the limit. */
const MAX_PART = 50

/** Changes are a list of id, number of the status and fence, again and again. */
type Part = readonly [
  tenant: number,
  lanes: readonly number[],
  tasks: readonly string[],
  changes?: readonly (string | number)[],
  at?: number,
]

/** Hints as payloads of notifications: JSON arrays of the sender's token and parts of hints. */
export function encodeHints(token: string, hints: readonly Hint[]): string[] {
  const payloads: string[] = []
  let payload = ''
  for (const part of hints.flatMap(partsOf)) {
    const text = JSON.stringify(part)
    if (payload.length + text.length > MAX_PAYLOAD) {
      payloads.push(`${payload}]`)
      payload = ''
    }
    if (payload === '') payload = opening(token)
    payload += `,${text}`
  }
  return payload === '' ? payloads : [...payloads, `${payload}]`]
}

/** The hints of another sender; none if they are our own, or of a kind that we do not know. */
export function decodeHints(token: string, payload: string): Hint[] {
  if (payload.startsWith(opening(token))) return []
  try {
    const [, ...parts]: unknown[] = JSON.parse(payload)
    return parts.filter(isPart).map(([tenant, lanes, tasks, changes = [], at = 0]) => ({
      tenant,
      lanes,
      tasks,
      changes: changesIn(changes),
      at,
    }))
  } catch {
    return []
  }
}

function isPart(value: unknown): value is Part {
  if (!Array.isArray(value)) return false
  const [tenant, lanes, tasks] = value
  return typeof tenant === 'number' && Array.isArray(lanes) && Array.isArray(tasks)
}

function opening(token: string): string {
  return `["${token}"`
}

function changesIn(flat: unknown): HintedChange[] {
  const list: readonly unknown[] = Array.isArray(flat) ? flat : []
  const changes: HintedChange[] = []
  for (let i = 0; i + 2 < list.length; i += 3) {
    const [task_id, number, fence] = list.slice(i, i + 3)
    const status = typeof number === 'number' ? STATUSES[number] : undefined
    if (typeof task_id !== 'string' || status === undefined || typeof fence !== 'number') continue
    changes.push({ task_id, status, fence })
  }
  return changes
}

function partsOf({ tenant, lanes, tasks, changes, at }: Hint): Part[] {
  const count = Math.ceil(Math.max(lanes.length, tasks.length, changes.length) / MAX_PART)
  return Array.from({ length: count }, (_, i): Part => {
    const range = [i * MAX_PART, (i + 1) * MAX_PART] as const
    const changed = changes.slice(...range)
    const flat = changed.flatMap(({ task_id, status, fence }) => [task_id, STATUSES.indexOf(status), fence])
    return [tenant, lanes.slice(...range), tasks.slice(...range), flat, at]
  })
}
