import { Fault } from './errors.ts'

export const OPEN_STATUSES = ['queued', 'leased', 'running'] as const
export const TERMINAL_STATUSES = ['succeeded', 'failed', 'canceled'] as const
export const STATUSES = [...OPEN_STATUSES, ...TERMINAL_STATUSES] as const

export type OpenStatus = (typeof OPEN_STATUSES)[number]
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number]
export type Status = (typeof STATUSES)[number]

/**
 * Every way a task can change its status. `docs/concepts.md` draws this table and the CHECK constraints of both
 * schemas repeat its statuses; a test compares the three.
 */
export const TRANSITIONS = {
  queued: { claim: 'leased', cancel: 'canceled' },
  leased: {
    start: 'running',
    complete: 'succeeded',
    fail: 'failed',
    retry: 'queued',
    expire: 'queued',
    release: 'queued',
    cancel: 'canceled',
  },
  running: {
    complete: 'succeeded',
    fail: 'failed',
    retry: 'queued',
    expire: 'queued',
    release: 'queued',
    cancel: 'canceled',
  },
  succeeded: {},
  failed: {},
  canceled: {},
} as const satisfies Record<Status, Partial<Record<Cause, Status>>>

export type Cause = 'claim' | 'start' | 'complete' | 'fail' | 'retry' | 'expire' | 'release' | 'cancel'

export function isTerminal(status: Status): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly Status[]).includes(status)
}

/** Refuses a change that the table does not have. */
export function checkTransition(from: Status, cause: Cause): void {
  if (!(cause in TRANSITIONS[from])) {
    throw new Fault(
      'INVALID_STATE_TRANSITION',
      { task_status: from },
      `A ${from} task does not allow ${cause}.`,
    )
  }
}
