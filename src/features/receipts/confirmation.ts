import type { Command } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { GATEWAY, principalKey } from '../../core/principal.ts'
import type { Confirmation } from '../../engine/confirmation.ts'

/** Why the shared ledger does not have the receipts of a task. */
export type Undelivered =
  | { readonly kind: 'unavailable'; readonly retryAfterMs: number }
  /** It refuses one of them, so that an operator has to repair it. */
  | { readonly kind: 'set_aside'; readonly reason: string | null }

/** Sends receipts while a caller waits. */
export interface ReceiptDelivery {
  /** How long no receipt can be sent, in ms; 0 if one can be sent now. */
  unavailableMs(): Promise<number>
  /** Sends the receipts of a task in their order. Undefined once the shared ledger has all of them. */
  deliver(taskId: string): Promise<Undelivered | undefined>
}

type Verb = Command['verb']

/** The commands that begin or end an obligation and that a caller is waiting for. */
const CLAIMS: readonly Verb[] = ['claim', 'reclaim']
const ENDS: readonly Verb[] = ['complete', 'fail', 'cancel', 'answer']

export interface ConfirmationOptions {
  /** The tenant whose receipts are sent. */
  readonly tenant: number
  readonly delivery: ReceiptDelivery
  /** Whether every operation waits for the shared ledger, and not only claims. */
  readonly isStrict: boolean
  /** Whether new tasks are sent to the shared ledger. */
  readonly forwardsAssigned: boolean
  /** How long a task whose receipt is refused cannot be claimed. */
  readonly refusedPauseMs: number
}

const GATEWAY_KEY = principalKey(GATEWAY)

/**
 * Confirms changes by the shared ledger. What ends a task is stored in any case, so that no work is lost, and its caller
 * repeats the request; what begins new work is refused while the shared ledger is known not to respond.
 */
export function ledgerConfirmation(options: ConfirmationOptions): Confirmation {
  const { tenant, delivery, isStrict, forwardsAssigned, refusedPauseMs } = options
  const begins = new Set<Verb>([...CLAIMS, ...(isStrict && forwardsAssigned ? (['create'] as const) : [])])
  const confirmed = new Set<Verb>([...begins, ...(isStrict ? ENDS : [])])
  // The gateway is a part of this server: no caller waits for its claims and reports.
  const isOfClient = (command: Command) => !('holder' in command && command.holder === GATEWAY_KEY)
  const needs = (verbs: ReadonlySet<Verb>, command: Command) =>
    command.tenant === tenant && verbs.has(command.verb) && isOfClient(command)

  const confirm = async ({ verb }: Command, taskId: string): Promise<Fault | undefined> => {
    const undelivered = await delivery.deliver(taskId)
    if (undelivered === undefined) return undefined
    // A claim that is not confirmed is undone.
    const task = { task_id: taskId, committed: !CLAIMS.includes(verb) }
    if (undelivered.kind === 'unavailable') return unavailable(undelivered.retryAfterMs, task)
    return new Fault('LEDGER_REFUSED', { ...task, reason: undelivered.reason })
  }
  return {
    async check(command) {
      if (!needs(begins, command)) return
      const ms = await delivery.unavailableMs()
      if (ms > 0) throw unavailable(ms, { committed: false })
    },
    confirm: (command, taskId) => (needs(confirmed, command) ? confirm(command, taskId) : undefined),
    pauseMs: ({ code }) => (code === 'LEDGER_REFUSED' ? refusedPauseMs : 0),
  }
}

function unavailable(ms: number, details: { readonly committed: boolean; readonly task_id?: string }): Fault {
  return new Fault('LEDGER_UNAVAILABLE', { ...details, retry_after_seconds: Math.ceil(ms / 1000) })
}
