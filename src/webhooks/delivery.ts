import { z } from 'zod'
import { backoff } from '../util/backoff.ts'

/** What the receiver is told about an approval: that it is asked for, and what was decided. */
export const EVENTS = ['asked', 'decided'] as const
export type Event = (typeof EVENTS)[number]

const shape = z.object({
  /** That of the question. */
  seq: z.int(),
  task_id: z.string(),
  n: z.int(),
  /** What is to be told next. */
  event: z.enum(EVENTS),
  attempts: z.int(),
  /** Not before this time. Whoever sends it sets it first, so that nobody else does meanwhile. */
  next_try_at: z.number(),
})

/** Where the word about one approval stands. There is one for as long as there is something left to tell. */
export type Delivery = z.output<typeof shape>

/** After so many tries nobody is there to be told. With the pauses between them that is about 20 hours. */
export const MAX_ATTEMPTS = 30

const PAUSE_MS = { first: 5_000, longest: 3_600_000 }

export function newDelivery({ seq, task_id, n }: Pick<Delivery, 'seq' | 'task_id' | 'n'>): Delivery {
  return { seq, task_id, n, event: 'asked', attempts: 0, next_try_at: 0 }
}

/** Names sort as the approvals were asked for. */
export function nameOf({ seq }: Delivery): string {
  return String(seq).padStart(16, '0')
}

export function readDelivery(value: string): Delivery {
  return shape.parse(JSON.parse(value))
}

/** The one after this has been told, or given up; undefined if nothing is left to tell. */
export function following(delivery: Delivery): Delivery | undefined {
  return delivery.event === 'decided'
    ? undefined
    : { ...delivery, event: 'decided', attempts: 0, next_try_at: 0 }
}

/** 5, 10, 20, ... seconds, and never more than an hour. */
export function pauseAfter(attempts: number): number {
  return backoff(attempts, PAUSE_MS.first, PAUSE_MS.longest)
}
