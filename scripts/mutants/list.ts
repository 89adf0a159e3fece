/** A deliberate fault: this text, which the file has exactly once, replaced by that. */
export interface Mutant {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a lease still counts at the instant of its end',
    file: 'src/core/lease.ts',
    find: 'now >= task.lease.expires_at',
    replace: 'now > task.lease.expires_at',
  },
  {
    name: 'the holder of a lease is not compared',
    file: 'src/core/lease.ts',
    find: 'lease.holder === claim.holder && ',
    replace: '',
  },
  {
    name: 'the worker_id of a lease is not compared',
    file: 'src/core/lease.ts',
    find: ' && lease.worker_id === claim.worker_id',
    replace: '',
  },
  {
    name: 'one attempt too many',
    file: 'src/core/retry.ts',
    find: 'task.attempt + 1 < task.max_attempts',
    replace: 'task.attempt < task.max_attempts',
  },
  {
    name: 'the backoff does not double',
    file: 'src/core/retry.ts',
    find: ' * 2 ** Math.min(attempt - 1, 30)',
    replace: '',
  },
  {
    name: 'the backoff has no cap',
    file: 'src/core/retry.ts',
    find: 'Math.min(seconds, settings.max_retry_backoff_seconds) * 1000',
    replace: 'seconds * 1000',
  },
  {
    name: 'a retry is ready at once',
    file: 'src/core/decide/fail.ts',
    find: 'next_eligible_at: delay > 0 ? next_eligible_at : null',
    replace: 'next_eligible_at: null',
  },
  {
    name: 'retry_after is ignored',
    file: 'src/core/decide/fail.ts',
    find: 'failure.retry_after_ms ?? backoffMs(',
    replace: 'backoffMs(',
  },
  {
    name: 'an expiry costs an attempt',
    file: 'src/core/decide/wake.ts',
    find: "requeue(draft, task, 'expire', { expiry_count, next_eligible_at })",
    replace: "requeue(draft, task, 'expire', { attempt: task.attempt + 1, expiry_count, next_eligible_at })",
  },
  {
    name: 'one expiry too many',
    file: 'src/core/decide/wake.ts',
    find: 'expiry_count >= task.max_expiries',
    replace: 'expiry_count > task.max_expiries',
  },
  {
    name: 'leases that lapse together come back together',
    file: 'src/core/decide/wake.ts',
    find: 'Math.floor(draft.world.draw.unit() * EXPIRY_JITTER_MS)',
    replace: '0',
  },
  {
    name: 'a wake comes before its time',
    file: 'src/core/decide/wake.ts',
    find: 'due === null || due > now',
    replace: 'due === null',
  },
  {
    name: 'a timeout is taken for an expiry',
    file: 'src/core/decide/wake.ts',
    find: '? timeOut(draft, task) : expire(draft, task)',
    replace: '? expire(draft, task) : expire(draft, task)',
  },
  {
    name: 'an expiry that is noticed late is taken for a timeout',
    file: 'src/core/decide/wake.ts',
    find: 'timeout <= task.lease.expires_at',
    replace: 'timeout <= now',
  },
  {
    name: 'a failure leaves its obligation open',
    file: 'src/core/decide/finish.ts',
    find: 'if (!ending.obligation_open) draft.close(task)',
    replace: "if (!ending.obligation_open && ending.status !== 'failed') draft.close(task)",
  },
  {
    name: 'the owner does not hear of a cancel',
    file: 'src/core/decide/finish.ts',
    find: "  draft.receipt({\n    type: 'task.result_ready',",
    replace: "  if (ending.status !== 'canceled') draft.receipt({\n    type: 'task.result_ready',",
  },
  {
    name: 'who the work is done for is not owed',
    file: 'src/core/draft.ts',
    find: 'onBehalf === task.owner ? [owner] : [owner, {',
    replace: 'onBehalf !== undefined ? [owner] : [owner, {',
  },
  {
    name: 'a completion that is said again writes another receipt',
    file: 'src/core/decide/complete.ts',
    find: 'draft.done({ seq: outcome.receipt_seq, obligation_open: outcome.obligation_open })',
    replace:
      'draft.done({ seq: completed(draft, task, command, false), obligation_open: outcome.obligation_open })',
  },
  {
    name: 'another result is taken for the same',
    file: 'src/core/decide/complete.ts',
    find: 'if (outcome.result !== command.result)',
    replace: 'if (outcome.result === null)',
  },
  {
    name: 'a repair closes nothing',
    file: 'src/core/decide/complete.ts',
    find: '  draft.close(task)\n  return',
    replace: '  return',
  },
  {
    name: 'an empty list is evidence',
    file: 'src/core/locatability.ts',
    find: "text === '[]' || ",
    replace: '',
  },
  {
    name: 'a task that has ended is canceled',
    file: 'src/core/decide/cancel.ts',
    find: 'if (!isOpen(task)) return',
    replace: "if (task.status === 'canceled') return",
  },
  {
    name: 'one renewal too many',
    file: 'src/core/decide/renew.ts',
    find: 'lease.renewals >= limit',
    replace: 'lease.renewals > limit',
  },
  {
    name: 'a renewed lease outlives its lifetime',
    file: 'src/core/decide/renew.ts',
    find: 'Math.min(now + extendMs, end)',
    replace: 'now + extendMs',
  },
  {
    name: 'a new lease outlives its lifetime',
    file: 'src/core/decide/claim.ts',
    find: 'Math.min(world.now + command.ttl_ms, leaseEnd(task, world.now, world.settings))',
    replace: 'world.now + command.ttl_ms',
  },
  {
    name: 'the fence does not rise',
    file: 'src/core/decide/claim.ts',
    find: 'task.fence + 1',
    replace: 'Math.max(task.fence, 1)',
  },
  {
    name: 'one lease beyond the quota',
    file: 'src/core/decide/claim.ts',
    find: 'limit - world.tenant.active_leases)',
    replace: 'limit - world.tenant.active_leases + 1)',
  },
  {
    name: 'one task beyond the quota',
    file: 'src/core/decide/create.ts',
    find: 'tenant.open_tasks >= settings.max_active_tasks',
    replace: 'tenant.open_tasks > settings.max_active_tasks',
  },
  {
    name: 'another input under a used key is accepted',
    file: 'src/core/decide/create.ts',
    find: 'prior.input !== command.input',
    replace: 'prior.input === null',
  },
  {
    name: 'a new owner goes before all who wait',
    file: 'src/core/fairness.ts',
    find: 'Math.max(clock, owner.last_rank)',
    replace: 'owner.last_rank',
  },
  {
    name: 'all owners stand in one queue',
    file: 'src/core/decide/create.ts',
    find: "world.settings.claim_order === 'fifo' ? EVERYONE : command.owner",
    replace: "world.settings.claim_order === 'fair' ? EVERYONE : command.owner",
  },
  {
    name: 'somebody else acknowledges a receipt',
    file: 'src/core/decide/acknowledge.ts',
    find: 'receipt.to !== command.by && ',
    replace: 'receipt.to === GATE && ',
  },
  {
    name: 'a receipt is acknowledged twice',
    file: 'src/core/decide/acknowledge.ts',
    find: '  if (before !== undefined) return draft.done({ seq: before })\n',
    replace: '',
  },
  {
    name: 'capabilities are not checked',
    file: 'src/core/matching.ts',
    find: 'return lane.capabilities.every((capability) => wanted.capabilities.includes(capability))',
    replace: 'return lane.capabilities.length < 100 || wanted.capabilities.length > 0',
  },
  {
    name: 'low priorities go first',
    file: 'src/gate/ready.ts',
    find: 'return a.queue.lane.priority > b.queue.lane.priority',
    replace: 'return a.queue.lane.priority < b.queue.lane.priority',
  },
  {
    name: 'the newest of a turn goes first',
    file: 'src/gate/ready.ts',
    find: 'a.seq < b.seq',
    replace: 'a.seq > b.seq',
  },
  {
    name: 'the mark of a lane goes past its first task',
    file: 'src/gate/ready.ts',
    find: 'const first = this.#tasks[0]',
    replace: 'const first = this.#tasks.at(-1)',
  },
  {
    name: 'a lane counts as empty when all that was loaded is gone',
    file: 'src/gate/ready.ts',
    find: 'first?.rank ?? (this.truncated ? this.#lastLoaded : null)',
    replace: 'first?.rank ?? null',
  },
  {
    name: 'a task that becomes ready overtakes those that are not loaded',
    file: 'src/gate/ready.ts',
    find: '    if (this.truncated && task.rank > this.#lastLoaded) return\n',
    replace: '',
  },
  {
    name: 'a claim goes past tasks that are not loaded',
    file: 'src/gate/ready.ts',
    find: '      if (task === undefined && cursor.queue.truncated) return\n',
    replace: '',
  },
  {
    name: 'owners share their keys',
    file: 'src/gate/tenant-world.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a template
    find: 'return `${owner}\\0${idempotencyKey}`',
    replace: 'return owner.length > 0 ? idempotencyKey : owner',
  },
  {
    name: 'the turn that is served does not advance',
    file: 'src/gate/tenant-world.ts',
    find: 'tenant.clock = Math.max(tenant.clock, after.rank)',
    replace: 'tenant.clock = Math.max(tenant.clock, 0)',
  },
  {
    name: 'leases that ended count as active',
    file: 'src/gate/tenant-world.ts',
    find: 'Number(isHeld(after)) - Number(isHeld(before))',
    replace: 'Number(isHeld(after) && !isHeld(before))',
  },
  {
    name: 'a claim does not see what has become due',
    file: 'src/gate/batch.ts',
    find: 'of loaded.due) this.#run(',
    replace: 'of loaded.due.slice(1)) this.#run(',
  },
  {
    name: 'a claim that must look again is told that there is nothing',
    file: 'src/gate/batch.ts',
    find: "command.verb === 'claim' && isEmpty(",
    replace: "command.verb === 'claim' && !('granted' in decision.answer) && isEmpty(",
  },
  {
    name: 'poison fails its whole batch',
    file: 'src/gate/commit-queue.ts',
    find: "reason === 'refused' && entries.length > 1",
    replace: "reason === 'refused' && entries.length > 1000",
  },
  {
    name: 'an unknown outcome is told as nothing',
    file: 'src/gate/commit-queue.ts',
    find: "unknown: 'OUTCOME_UNKNOWN'",
    replace: "unknown: 'DATABASE_UNAVAILABLE'",
  },
  {
    name: 'the queue of commands grows without bound',
    file: 'src/gate/pending.ts',
    find: 'this.#entries.length >= this.#limits.commands || ',
    replace: '',
  },
  {
    name: 'a claim registers itself after its first look',
    file: 'src/gate/verbs/claim.ts',
    find: '  claims.add(waiter)\n',
    replace: '  setTimeout(() => claims.add(waiter), 0)\n',
  },
  {
    name: 'the end of a wait is forgotten by one who is awake',
    file: 'src/gate/waiters.ts',
    find: "if (this.#wakeup === undefined || wakeup === 'timeout') this.#wakeup = wakeup",
    replace: 'this.#wakeup ??= wakeup',
  },
  {
    name: 'work that a claim was called for and leaves behind is nobody else’s',
    file: 'src/gate/waiters.ts',
    find: '!taken.includes(waiter.called.lane)',
    replace: 'taken.length > 1000',
  },
]
