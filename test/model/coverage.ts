/** The coverage of a campaign: how often each verb had each outcome. */
export class Coverage {
  readonly #counts = new Map<string, number>()

  note(verb: string, outcome: string): void {
    const name = `${verb}: ${outcome}`
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  toString(): string {
    const calls = [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
    return `${calls} outcomes of ${this.#counts.size} kinds`
  }

  count(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  missing(required: readonly string[]): string[] {
    return required.filter((name) => this.count(name) === 0)
  }
}

/** The outcomes that a campaign must reach. */
export const REQUIRED: readonly string[] = Object.entries({
  create: ['created', 'duplicate', 'IDEMPOTENCY_CONFLICT', 'QUOTA_EXCEEDED'],
  claim: ['one', 'several', 'nothing', 'quota reached'],
  start: ['started', 'again', 'LEASE_INVALID_OR_EXPIRED (lapsed)', 'LEASE_INVALID_OR_EXPIRED (queued)'],
  renew: [
    'renewed',
    'LEASE_RENEWAL_LIMIT_EXCEEDED (first)',
    'LEASE_RENEWAL_LIMIT_EXCEEDED (again)',
    'LEASE_LIFETIME_EXCEEDED',
    'LEASE_INVALID_OR_EXPIRED (lapsed)',
    'LEASE_INVALID_OR_EXPIRED (replaced)',
    'LEASE_INVALID_OR_EXPIRED (not the holder)',
    'LEASE_INVALID_OR_EXPIRED (not the worker_id)',
    'LEASE_INVALID_OR_EXPIRED (canceled)',
  ],
  progress: [
    'noted',
    'noted and extended',
    'LEASE_RENEWAL_LIMIT_EXCEEDED (first)',
    'LEASE_LIFETIME_EXCEEDED',
    'LEASE_INVALID_OR_EXPIRED (lapsed)',
  ],
  release: ['released', 'LEASE_INVALID_OR_EXPIRED (lapsed)', 'LEASE_INVALID_OR_EXPIRED (queued)'],
  complete: [
    'closed',
    'open',
    'again',
    'again, open',
    'repaired',
    'RESULT_CONFLICT (result)',
    'RESULT_CONFLICT (evidence)',
    'LOCATABILITY_REQUIRED',
    'LEASE_INVALID_OR_EXPIRED (lapsed)',
    'LEASE_INVALID_OR_EXPIRED (replaced)',
    'LEASE_INVALID_OR_EXPIRED (not the holder)',
    'LEASE_INVALID_OR_EXPIRED (not the worker_id)',
    'LEASE_INVALID_OR_EXPIRED (failed)',
    'LEASE_INVALID_OR_EXPIRED (canceled)',
    'LEASE_INVALID_OR_EXPIRED (pending_approval)',
    'LEASE_INVALID_OR_EXPIRED (input_required)',
  ],
  fail: [
    'requeued',
    'gave up',
    'final',
    'again',
    'LEASE_INVALID_OR_EXPIRED (lapsed)',
    'LEASE_INVALID_OR_EXPIRED (queued)',
  ],
  ask: [
    'approval',
    'input',
    'again',
    'LEASE_INVALID_OR_EXPIRED (lapsed)',
    'LEASE_INVALID_OR_EXPIRED (queued)',
    'LEASE_INVALID_OR_EXPIRED (not the holder)',
    'LEASE_INVALID_OR_EXPIRED (not the worker_id)',
  ],
  answer: [
    'approve',
    'approve with another payload',
    'deny',
    'answer',
    'again',
    'FORBIDDEN',
    'QUESTION_NOT_FOUND',
    'INVALID_STATE_TRANSITION',
    'ALREADY_DECIDED (approved)',
    'ALREADY_DECIDED (denied)',
    'ALREADY_DECIDED (answered)',
    'ALREADY_DECIDED (expired)',
    'ALREADY_DECIDED (withdrawn)',
    'ALREADY_DECIDED (late)',
  ],
  cancel: [
    'pending_approval',
    'input_required',
    'queued',
    'leased',
    'running',
    'ended already',
    'FORBIDDEN',
    'TASK_NOT_FOUND',
  ],
  acknowledge: ['acknowledged', 'again', 'FORBIDDEN', 'RECEIPT_NOT_FOUND'],
  clock: [
    'approval expired',
    'input expired',
    'due',
    'expired',
    'expired too often',
    'timeout, requeued',
    'timeout, gave up',
  ],
}).flatMap(([verb, outcomes]) => outcomes.map((outcome) => `${verb}: ${outcome}`))
