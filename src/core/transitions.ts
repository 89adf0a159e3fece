import { Fault } from './errors.ts'

/** Statuses of a task that waits for the answer to a question. */
export const PARKED_STATUSES = ['pending_approval', 'input_required'] as const
export const OPEN_STATUSES = ['queued', 'leased', 'running', ...PARKED_STATUSES] as const
export const TERMINAL_STATUSES = ['succeeded', 'failed', 'canceled'] as const
export const STATUSES = [...OPEN_STATUSES, ...TERMINAL_STATUSES] as const

export type ParkedStatus = (typeof PARKED_STATUSES)[number]
export type OpenStatus = (typeof OPEN_STATUSES)[number]
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number]
export type Status = (typeof STATUSES)[number]

/**
 * Every way a task can change its status. `docs/concepts.md` draws this table, and the schemas of both stores explain its
 * statuses; a test compares the three.
 */
export const TRANSITIONS = {
  queued: {
    claim: 'leased',
    complete: 'succeeded',
    fail: 'failed',
    miss_deadline: 'failed',
    cancel: 'canceled',
  },
  leased: {
    start: 'running',
    complete: 'succeeded',
    fail: 'failed',
    retry: 'queued',
    expire: 'queued',
    release: 'queued',
    ask_approval: 'pending_approval',
    ask_input: 'input_required',
    miss_deadline: 'failed',
    cancel: 'canceled',
  },
  running: {
    complete: 'succeeded',
    fail: 'failed',
    retry: 'queued',
    expire: 'queued',
    release: 'queued',
    ask_approval: 'pending_approval',
    ask_input: 'input_required',
    miss_deadline: 'failed',
    cancel: 'canceled',
  },
  pending_approval: {
    approve: 'queued',
    deny: 'canceled',
    expire: 'canceled',
    miss_deadline: 'failed',
    cancel: 'canceled',
  },
  input_required: { answer: 'queued', expire: 'failed', miss_deadline: 'failed', cancel: 'canceled' },
  succeeded: {},
  failed: {},
  canceled: {},
} as const satisfies Record<Status, Partial<Record<Cause, Status>>>

export type Cause =
  | 'claim'
  | 'start'
  | 'complete'
  | 'fail'
  | 'retry'
  | 'expire'
  | 'release'
  | 'ask_approval'
  | 'ask_input'
  | 'approve'
  | 'deny'
  | 'answer'
  | 'miss_deadline'
  | 'cancel'

export function isTerminal(status: Status): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly Status[]).includes(status)
}

export function isParked(status: Status): status is ParkedStatus {
  return status === 'pending_approval' || status === 'input_required'
}

type Table = typeof TRANSITIONS

type Next<From extends Status, By extends Cause> = From extends Status
  ? By extends keyof Table[From]
    ? Table[From][By]
    : never
  : never

/** The status that follows. Throws a Fault if the table does not have this transition. */
export function transition<From extends Status, By extends Cause>(from: From, cause: By): Next<From, By> {
  const edges: Partial<Record<Cause, Status>> = TRANSITIONS[from]
  const next = edges[cause]
  if (next === undefined) {
    throw new Fault(
      'INVALID_STATE_TRANSITION',
      { task_status: from },
      `A ${from} task does not allow ${cause}.`,
    )
  }
  // The compiler cannot follow an index by two type parameters; the type repeats the lookup above.
  return next as Next<From, By>
}
