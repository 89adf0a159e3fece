import { hash } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import type { Entries } from '../store/entries.ts'
import { KIND } from './records.ts'

interface Slot {
  readonly tenant: number
  readonly kind: string
  readonly name: string
  readonly due_at: number | null
}

interface Holder {
  readonly email_id: string
  /** Of what the mail says; another digest under the same name is a conflict. */
  readonly digest?: string
}

/** The mail that a name stands for: the given one if the name is new, else the one that had it first. */
export async function reserve(entries: Entries, slot: Slot, holder: Holder): Promise<Holder> {
  const value = JSON.stringify(holder)
  for (;;) {
    if ((await entries.put({ ...slot, value }, 0)) !== undefined) return holder
    const found = await entries.get(slot.tenant, slot.kind, slot.name)
    // Gone meanwhile: its time was over.
    if (found !== undefined) return JSON.parse(found.value)
  }
}

export function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url')
}

const HOUR_MS = 3600 * 1000

/** Counts a mail of the sender, or refuses it for this hour. */
export async function countMail(
  entries: Entries,
  tenant: number,
  by: string,
  limit: number,
  now: number,
): Promise<void> {
  const hour = Math.floor(now / HOUR_MS)
  for (;;) {
    const found = await entries.get(tenant, KIND.rate, by)
    const before: { hour: number; count: number } =
      found === undefined ? { hour, count: 0 } : JSON.parse(found.value)
    const count = before.hour === hour ? before.count : 0
    if (count >= limit) {
      const retry_after_seconds = Math.ceil(((hour + 1) * HOUR_MS - now) / 1000)
      throw new Fault(
        'RATE_LIMIT_EXCEEDED',
        { limit_per_hour: limit, retry_after_seconds },
        'The sender has sent as many mails as an hour allows.',
      )
    }
    const written = await entries.put(
      {
        tenant,
        kind: KIND.rate,
        name: by,
        value: JSON.stringify({ hour, count: count + 1 }),
        due_at: (hour + 2) * HOUR_MS,
      },
      found?.version ?? 0,
    )
    if (written !== undefined) return
  }
}
