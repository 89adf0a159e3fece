import type { PrincipalKey } from './principal.ts'
import { canTerminate, createsObligation, type Receipt } from './receipt.ts'
import type { TaskCore } from './task.ts'

type Entry = Pick<Receipt, 'seq' | 'receipt_type' | 'task_id' | 'parents'>

/** Derives the open obligations from the receipts of a tenant, which are added in their order. */
export class ObligationReplay {
  readonly #open = new Map<number, Entry>()

  add(receipt: Entry): void {
    if (createsObligation(receipt.receipt_type)) this.#open.set(receipt.seq, receipt)
    for (const parent of receipt.parents) {
      const opening = this.#open.get(parent)
      if (opening !== undefined && canTerminate(receipt.receipt_type, opening.receipt_type)) {
        this.#open.delete(parent)
      }
    }
  }

  /** The receipts that opened an obligation which is still open, by their seq. */
  get open(): ReadonlyMap<number, Pick<Receipt, 'seq' | 'task_id'>> {
    return this.#open
  }
}

/** To whom a task is owed: its owner, and the agent on whose behalf it is done. */
export function owedTo({ owner, principal_ai }: Pick<TaskCore, 'owner' | 'principal_ai'>): PrincipalKey[] {
  return [...new Set<PrincipalKey>([owner, `agent:${principal_ai}`])]
}
