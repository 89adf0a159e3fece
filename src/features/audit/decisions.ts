import type { Permission } from '../../core/authorization.ts'
import { type ErrorCode, Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'

/** Whether a caller was allowed to make a call: its role, its scopes, and whose task it names. */
export interface Decision {
  readonly decision: 'allowed' | 'refused'
  readonly operation: string
  readonly permission: Permission
  readonly caller: Caller
  /** Why the call was refused. */
  readonly reason?: string
}

/** Receives every decision. It never throws. */
export type DecisionListener = (decision: Decision) => void

interface Decided {
  readonly name: string
  readonly access: Permission
}

/** The call ended before its permission was checked. */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set(['UNAUTHENTICATED', 'RATE_LIMIT_EXCEEDED'])

/** Reports the decision about a call that has ended, with its error if it failed. */
export function reportDecision(
  listener: DecisionListener,
  { name: operation, access: permission }: Decided,
  caller: Caller,
  error?: unknown,
): void {
  const code = error instanceof Fault ? error.code : undefined
  if (code !== undefined && UNDECIDED.has(code)) return
  if (code === 'FORBIDDEN' && error instanceof Fault) {
    listener({ decision: 'refused', operation, permission, caller, reason: error.message })
  } else listener({ decision: 'allowed', operation, permission, caller })
}

/** Makes a call that is no operation of the catalogue, and reports the decision if there is a listener. */
export function withDecision<Result>(
  listener: DecisionListener | undefined,
  call: Decided,
  caller: Caller,
  run: () => Promise<Result>,
): Promise<Result> {
  if (listener === undefined) return run()
  const report = (error?: unknown) => reportDecision(listener, call, caller, error)
  return run().then(
    (result) => {
      report()
      return result
    },
    (error: unknown) => {
      report(error)
      throw error
    },
  )
}
