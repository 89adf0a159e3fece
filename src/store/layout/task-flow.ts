import type { Flow, WaitMode } from '../../core/flow.ts'

/** The relations of a task within its state. Its fields are known by their place. */
export type StoredFlow = readonly [
  parent: number | null,
  linked: 0 | 1,
  waits: number,
  waiting: readonly [n: number, left: number, mode: WaitMode, not_before: number | null] | null,
]

export function encodeFlow({ parent, linked, waits, waiting }: Flow): string {
  const stored: StoredFlow = [
    parent,
    linked ? 1 : 0,
    waits,
    waiting === null ? null : [waiting.n, waiting.left, waiting.mode, waiting.not_before],
  ]
  return JSON.stringify(stored)
}

export function decodeFlow([parent, linked, waits, waiting]: StoredFlow): Flow {
  return { parent, linked: linked === 1, waits, waiting: waiting === null ? null : waitingOf(waiting) }
}

function waitingOf([n, left, mode, not_before]: NonNullable<StoredFlow[3]>): NonNullable<Flow['waiting']> {
  return { n, left, mode, not_before }
}
