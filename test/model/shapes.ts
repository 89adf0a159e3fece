import { type ClaimOptions, type LeaseCall, type ModelTask, type NewTask, openQuestion } from './model.ts'

export function createInput(input: NewTask) {
  return {
    type: input.type,
    principal_ai: input.principalAi,
    payload: input.payload,
    requirements: { capabilities: input.capabilities },
    priority: input.priority,
    max_attempts: input.maxAttempts,
    max_expiries: input.maxExpiries,
    retry_backoff_seconds: input.backoff,
    delay_seconds: input.delay,
    ...(input.timeout !== null && { timeout_seconds: input.timeout }),
    ...(input.key !== null && { idempotency_key: input.key }),
  }
}

export function claimInput(workerId: string, options: ClaimOptions) {
  return {
    worker_id: workerId,
    capabilities: options.capabilities,
    ...(options.accept !== null && { accept_types: options.accept }),
    preferred_types: options.prefer,
    max_tasks: options.max,
    lease_ttl_seconds: options.ttl,
  }
}

export function leaseInput(call: LeaseCall) {
  return { worker_id: call.workerId, task_id: call.lease.task.id, lease_id: call.lease.id }
}

/** The view that `getTask` should return. */
export function expectedView(task: ModelTask): Record<string, unknown> {
  const { input, lease, end } = task
  const isHeld = task.status === 'leased' || task.status === 'running'
  const last = task.progress.at(-1)
  return {
    task_id: task.id,
    type: input.type,
    status: task.status,
    payload: task.payload,
    question: expectedQuestion(task),
    created_by: { kind: 'agent', id: input.owner },
    principal_ai: input.principalAi,
    priority: input.priority,
    attempt: task.attempt,
    max_attempts: input.maxAttempts,
    expiry_count: task.expiries,
    max_expiries: input.maxExpiries,
    retry_backoff_seconds: input.backoff,
    idempotency_key: input.key,
    next_eligible_at: typeof task.eligibleAt === 'number' ? iso(task.eligibleAt) : null,
    created_at: iso(task.createdAt),
    updated_at: iso(task.updatedAt),
    started_at: task.startedAt === null ? null : iso(task.startedAt),
    timeout_at:
      isHeld && lease !== null && input.timeout !== null
        ? iso(lease.acquiredAt + input.timeout * 1000)
        : null,
    progress: last && { ...last.value, updated_at: iso(last.at) },
    lease:
      isHeld && lease !== null ? { worker_id: lease.workerId, expires_at: iso(lease.expiresAt) } : undefined,
    dead_letter: end?.deadLetter ? true : undefined,
    result: end
      ? {
          outcome: task.status,
          result: end.result,
          error: end.error,
          artifacts: end.artifacts,
          completed_at: iso(end.at),
        }
      : undefined,
  }
}

function expectedQuestion(task: ModelTask) {
  const question = openQuestion(task)
  if (question === undefined) return null
  const { n, kind, request, askedBy, askedAt, expiresAt } = question
  const [, by_kind, id] = /^(\w+):(.*)$/.exec(askedBy) ?? []
  return {
    n,
    kind,
    request,
    asked_by: { kind: by_kind, id },
    origin: question.lease === null ? 'policy' : 'worker',
    asked_at: iso(askedAt),
    expires_at: expiresAt === null ? null : iso(expiresAt),
  }
}

/** The members of `object` whose names `like` has. */
export function pick(object: object, like: object): Record<string, unknown> {
  const members = new Map<string, unknown>(Object.entries(object))
  return Object.fromEntries(Object.keys(like).map((key) => [key, members.get(key)]))
}

export function iso(time: number): string {
  return new Date(time).toISOString()
}
