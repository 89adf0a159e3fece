import type { GrantedCall, ToolCallQueue } from '../../features/sessions/tool-call-queue.ts'
import { COMMON_SEAT } from '../../features/sessions/tool-calls.ts'
import type { Places } from './places.ts'
import { Slots } from './slots.ts'

export interface CaretakerParts {
  readonly desk: ToolCallQueue
  readonly tenant: number
  readonly workers: number
  readonly places: Places
  /** Whether a session has the seat, here or at another server. */
  isTaken(seat: number): boolean
  claim(seats: () => readonly number[]): Promise<GrantedCall | undefined>
  make(call: GrantedCall): Promise<void>
  report(error: unknown): void
}

/**
 * Makes the calls that no session's slots make: those of clients without a session, and those whose session is gone by
 * the time they are approved, tried again or found after a restart.
 */
export class OrphanedCallWorker extends Slots<GrantedCall> {
  constructor({ desk, tenant, workers, places, isTaken, claim, make, report }: CaretakerParts) {
    super({
      limit: () => workers,
      places,
      claim: () =>
        claim(() => [...new Set([COMMON_SEAT, ...desk.seats(tenant)])].filter((seat) => !isTaken(seat))),
      make,
      report,
    })
  }
}
