import type { Random } from '../util/random.ts'

/** A time-ordered id (UUID version 7). */
export function timeId(now: number, random: Random): string {
  const time = now.toString(16).padStart(12, '0')
  const tail = random.hex(10)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${tail.slice(0, 3)}-${variant(tail[3])}${tail.slice(4, 7)}-${tail.slice(7, 19)}`
}

/**
 * A UUID (version 7) made of the time of the task, its seq in 44 bits, and 30 random bits. The seq leads to the task
 * without an index.
 */
export function taskId(now: number, seq: number, random: Random): string {
  const time = now.toString(16).padStart(12, '0')
  const place = seq.toString(16).padStart(11, '0')
  const tail = random.hex(4)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place.slice(0, 3)}-${variant(tail[0])}${tail.slice(1, 4)}-${tail.slice(4, 8)}${place.slice(3)}`
}

/** The seq in a task id; undefined for anything that is not a task id. */
export function taskSeq(id: string): number | undefined {
  if (!isUuid(id) || id[14] !== '7') return undefined
  const seq = Number.parseInt(id.slice(15, 18) + id.slice(28), 16)
  return seq >= 1 ? seq : undefined
}

/** When the task with this id was created. */
export function taskTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/**
 * A UUID (version 8) made of the seq of the task and 74 random bits. The seq leads from a lease to its task without an
 * index; the random bits are the secret of the holder.
 */
export function leaseId(seq: number, random: Random): string {
  const task = seq.toString(16).padStart(12, '0')
  const tail = random.hex(10)
  return `${task.slice(0, 8)}-${task.slice(8)}-8${tail.slice(0, 3)}-${variant(tail[3])}${tail.slice(4, 7)}-${tail.slice(7, 19)}`
}

/** The seq of the task that a lease id names; undefined for anything that is not a lease id. */
export function leaseSeq(id: string): number | undefined {
  if (!isUuid(id) || id[14] !== '8') return undefined
  const seq = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  return seq >= 1 ? seq : undefined
}

/** The random half of every receipt id of a tenant: two groups of a UUID, drawn when the tenant is made. */
export function tenantSalt(random: Random): string {
  const hex = random.hex(8)
  return `${variant(hex[0])}${hex.slice(1, 4)}-${hex.slice(4)}`
}

/**
 * A receipt id is a UUID (version 8) made of the receipt's seq and the tenant's salt: unique everywhere, found by
 * the primary key, and known to exist if its salt is the tenant's and its seq has been given out.
 */
export function receiptId(salt: string, seq: number): string {
  const hex = seq.toString(16).padStart(15, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12)}-${salt}`
}

/** The seq inside a receipt id of this tenant; undefined for anything else. */
export function receiptSeq(salt: string, id: string): number | undefined {
  if (!isUuid(id) || id[14] !== '8' || id.slice(19) !== salt) return undefined
  const seq = Number.parseInt(id.slice(0, 8) + id.slice(9, 13) + id.slice(15, 18), 16)
  return seq >= 1 && Number.isSafeInteger(seq) ? seq : undefined
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Ids are opaque to clients: what is not a UUID names nothing. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** A hex digit that keeps two of its random bits and says with the others that this is a UUID. */
function variant(digit = '0'): string {
  return '89ab'[Number.parseInt(digit, 16) & 3] ?? '8'
}
