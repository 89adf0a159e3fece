import { body } from '../bodies.ts'
import type { Answers, Block, Create } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault, invalid } from '../errors.ts'
import { receiptId, taskId } from '../ids.ts'
import { canonical, parseCanonical } from '../json/json.ts'
import { EVERYONE, nextRank } from '../matching.ts'
import { GATE } from '../principal.ts'
import { type Asked, PARKED_BY } from '../question.ts'
import { asParked, type ParkedTask, type QueuedTask, type TaskSpec } from '../task.ts'
import type { World } from '../world.ts'
import { cancelOpen } from './cancel.ts'
import { end } from './finish.ts'
import { ask, expiryOf } from './question.ts'
import { dependencyError, type Related, relate } from './relate.ts'

export function create(draft: Draft, command: Create): Decision<Answers['create']> {
  const { world } = draft
  if (command.idempotency_key !== null) {
    const prior = world.keyed(command.owner, command.idempotency_key)
    if (prior !== undefined) return draft.done(replay(world, command, prior))
  }
  if (command.refusal !== undefined) throw command.refusal
  checkDeadline(world, command)
  // A task that is blocked is never open.
  if (command.block === undefined) checkQuota(world)
  if (command.caused_by !== null && command.caused_by > world.tenant.seq) {
    const caused_by_receipt_id = receiptId(world.tenant.salt, command.caused_by)
    throw new Fault('PARENT_NOT_FOUND', { caused_by_receipt_id })
  }

  const unrelated = newTask(draft, command)
  const { task: made, failed } = relatedTask(draft, unrelated, command)
  // A task that is canceled because of a dependency asks nothing.
  const question = failed === undefined ? command.question : null
  const parked = question === null ? null : parkedBy(world, made, question)
  const task = parked ?? made
  if (command.block === undefined) draft.task(task)
  draft.spec({
    tenant: task.tenant,
    task_id: task.task_id,
    seq: task.seq,
    owner: task.owner,
    type: command.type,
    priority: command.priority,
    session_id: command.session_id,
    labels: command.labels,
    idempotency_key: command.idempotency_key,
    created_at: world.now,
    instance: world.settings.instance_id,
    input: command.input,
    policy: command.policy,
  })
  const seq = draft.receipt({
    type: 'task.assigned',
    from: GATE,
    to: command.owner,
    task_id: task.task_id,
    parents: command.caused_by === null ? [] : [command.caused_by],
    body: command.contract,
  })
  draft.open(task)
  if (command.block !== undefined) return blocked(draft, made, command.block)
  if (question !== null && parked !== null) {
    ask(draft, parked, question, { by: GATE, lease_id: null, not_before: unrelated.next_eligible_at })
  }
  if (failed !== undefined) {
    const status = cancelOpen(draft, task, { by: GATE, ...dependencyError(failed) })
    return draft.done({ task_id: task.task_id, status, is_duplicate: false, seq })
  }
  return draft.done({ task_id: task.task_id, status: task.status, is_duplicate: false, seq })
}

/** The new task with its parent and what it waits for. A blocked one is never open, so it has neither. */
function relatedTask(draft: Draft, task: QueuedTask, command: Create): Related {
  const { relations, block } = command
  if (relations === undefined || block !== undefined) return { task, failed: undefined }
  return relate(draft, task, command, relations)
}

/** The task fails before it can be claimed, and its creator receives the fault. */
function blocked(draft: Draft, task: QueuedTask, block: Block): Decision<Answers['create']> {
  const { owner, task_id } = task
  const fault = blockFault(block, task_id)
  const { code, message } = fault
  const error = canonical({ code, message, rule_id: block.rule_id })
  const about = { from: GATE, to: owner, task_id, parents: [task.seq] }
  draft.receipt({ ...about, type: 'policy.blocked', body: block.body })
  const seq = draft.receipt({
    ...about,
    type: 'task.failed',
    body: body({ error, retry_after_seconds: null, retry_recommended: canonical(false) }),
  })
  end(draft, task, 'failed', { error, receipt_seq: seq })
  return draft.refuse(fault)
}

function blockFault({ rule_id, reason }: Pick<Block, 'rule_id' | 'reason'>, task_id: string): Fault {
  return new Fault('POLICY_BLOCKED', { rule_id, reason, task_id }, reason)
}

/** What the rules said about a task that they blocked. */
function blockOf({ policy }: TaskSpec): Pick<Block, 'rule_id' | 'reason'> | undefined {
  const ruling = policy === null ? null : parseCanonical(policy)
  if (typeof ruling !== 'object' || ruling === null || !('action' in ruling)) return undefined
  if (ruling.action !== 'BLOCK') return undefined
  const { rule_id, reason } = ruling
  return { rule_id: typeof rule_id === 'string' ? rule_id : null, reason: String(reason) }
}

/** The same input under the same key is the same task; another input is a mistake of the caller. */
function replay(world: World, command: Create, prior: TaskSpec): Answers['create'] {
  // A rule that redacts may be younger than the task: then the task has what was asked.
  if (prior.input !== command.input && prior.input !== command.asked) {
    throw new Fault('IDEMPOTENCY_CONFLICT', {
      idempotency_key: command.idempotency_key,
      task_id: prior.task_id,
    })
  }
  const block = blockOf(prior)
  if (block !== undefined) throw blockFault(block, prior.task_id)
  const task = world.task(prior.task_id)
  if (task === undefined) throw new Error(`task ${prior.task_id} has a spec but no row`)
  return { task_id: prior.task_id, status: task.status, is_duplicate: true, seq: prior.seq }
}

const ONE_YEAR_MS = 365 * 24 * 3600 * 1000

/** By the time of the store, as every other instant. */
function checkDeadline({ now }: World, { deadline_at, delay_ms }: Create): void {
  if (deadline_at === null) return
  if (deadline_at <= now) throw invalid('deadline_at', 'is not in the future')
  if (deadline_at <= now + delay_ms) throw invalid('deadline_at', 'is not after the end of delay_seconds')
  if (deadline_at > now + ONE_YEAR_MS) throw invalid('deadline_at', 'is more than 365 days ahead')
}

function checkQuota({ settings, tenant }: World): void {
  const used = {
    max_active_tasks: tenant.open_tasks,
    max_terminal_tasks: tenant.ended_tasks,
    max_receipt_bytes: tenant.receipt_bytes,
  } as const
  for (const quota of CREATE_QUOTAS) {
    const limit = settings[quota]
    if (limit >= 0 && used[quota] >= limit) throw new Fault('QUOTA_EXCEEDED', { quota, limit })
  }
}

/** The quotas of a tenant that refuse new tasks. */
const CREATE_QUOTAS = ['max_active_tasks', 'max_terminal_tasks', 'max_receipt_bytes'] as const

function parkedBy(world: World, task: QueuedTask, question: Asked): ParkedTask {
  return asParked(task, {
    question_count: 1,
    updated_at: task.updated_at,
    status: PARKED_BY[question.kind],
    expires_at: expiryOf(world, task, question),
  })
}

/** A blocked task never waits in a queue, so it must not take the number of a lane or count towards its owner's limit. */
const NOWHERE = { lane: 0, pool: 0 }

function placeOf(world: World, { type, capabilities, priority, owner, limit, rate }: Create) {
  return world.lane(type, capabilities, priority, owner, limit, rate)
}

function newTask(draft: Draft, command: Create): QueuedTask {
  const { world } = draft
  const { lane, pool } = command.block === undefined ? placeOf(world, command) : NOWHERE
  const queue = world.owner(world.settings.claim_order === 'fifo' ? EVERYONE : command.owner)
  return {
    tenant: world.tenant.tenant,
    task_id: taskId(world.now, draft.nextSeq, world.random),
    seq: draft.nextSeq,
    status: 'queued',
    lane,
    pool,
    rank: nextRank(world.tenant.clock, queue),
    owner: command.owner,
    principal_ai: command.principal_ai,
    attempt: 0,
    max_attempts: command.max_attempts,
    expiry_count: 0,
    max_expiries: command.max_expiries,
    retry_backoff_seconds: command.retry_backoff_seconds,
    timeout_seconds: command.timeout_seconds,
    deadline_at: command.deadline_at,
    retention_days: command.retention_days,
    escalation_class: command.escalation_class,
    scheduling: command.scheduling,
    input_length: command.input.length,
    fence: 0,
    progress_count: 0,
    question_count: 0,
    updated_at: world.now,
    flow: null,
    next_eligible_at: command.delay_ms > 0 ? world.now + command.delay_ms : null,
  }
}
