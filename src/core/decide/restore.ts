import { isObject } from '../../util/guards.ts'
import type { Answers, Restore } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { invalid } from '../errors.ts'
import { asksForAttention, marked } from '../inbox.ts'
import { canonical } from '../json/json.ts'
import { type PrincipalKey, parsePrincipalKey } from '../principal.ts'
import type { Receipt } from '../receipt.ts'
import {
  asDone,
  asHeld,
  type DoneTask,
  isHeld,
  isOpen,
  type OpenTask,
  type Outcome,
  type Task,
} from '../task.ts'
import type { TerminalStatus } from '../transitions.ts'
import { answered, asked } from './restore-question.ts'
import { newTask, numberIn, requeued, type Said, saidBy, textOf, timeIn } from './restored-task.ts'

/**
 * Adds the next receipt of a ledger that another database had, and brings its task into the state that the receipt says.
 * What no receipt says, such as the end of a lease, comes from `contents`, and has a safe value without it.
 */
export function restore(draft: Draft, command: Restore): Decision<Answers['restore']> {
  const { receipt } = command
  if (receipt.seq !== draft.nextSeq) {
    throw invalid('receipt.seq', `is ${receipt.seq}, but the next receipt of the ledger is ${draft.nextSeq}`)
  }
  const said = saidBy(receipt)
  const known = receipt.task_id === null ? undefined : draft.world.task(receipt.task_id)
  const task = receipt.receipt_type === 'task.assigned' ? newTask(draft, command) : known
  draft.restore(receipt, inboxesOf(receipt, task, said))
  if (receipt.receipt_type === 'receipt.acknowledged') acknowledge(draft, receipt)
  else if (task !== undefined) apply(draft, task, command, said)
  return draft.done({ seq: receipt.seq })
}

function apply(draft: Draft, task: Task, command: Restore, said: Said): void {
  const { receipt } = command
  switch (receipt.receipt_type) {
    case 'task.assigned':
      draft.task(task)
      draft.open(task)
      return
    case 'schedule.created':
      draft.open(task, receipt.seq)
      return
    case 'schedule.deleted':
      draft.close(task, receipt.parents[0])
      return
    case 'task.completed':
      complete(draft, task, command, said)
      return
    case 'task.failed':
      fail(draft, task, receipt, said)
      return
    case 'task.canceled':
      end(draft, task, receipt, 'canceled', { error: CANCELED })
      return
    case 'task.result_ready':
      addError(draft, task, said)
      return
    default:
      if (isOpen(task)) continueTask(draft, task, command, said)
  }
}

function continueTask(draft: Draft, task: OpenTask, command: Restore, said: Said): void {
  const { receipt, contents } = command
  const change = openChange(draft, task, command, said)
  if (change !== undefined) draft.task(change)
  else if (receipt.receipt_type === 'question.asked') asked(draft, task, receipt, contents.question, said)
  else if (receipt.receipt_type === 'question.answered') {
    answered(draft, task, receipt, contents.answer ?? null, said)
  }
}

/** What an open task becomes; undefined if the receipt changes nothing, or is about a question. */
function openChange(draft: Draft, task: OpenTask, command: Restore, said: Said): OpenTask | undefined {
  const { receipt } = command
  const { attempt, expiry_count } = task
  switch (receipt.receipt_type) {
    case 'task.accepted':
      return held(task, command)
    case 'task.started':
      return isHeld(task)
        ? { ...task, status: 'running', started_at: receipt.created_at, updated_at: receipt.created_at }
        : undefined
    case 'task.progress':
      return progressed(draft, task, receipt, said)
    case 'task.retry_scheduled':
      return requeued(task, receipt, {
        attempt: numberIn(said.attempt) ?? attempt + 1,
        next_eligible_at: timeIn(said.next_eligible_at),
      })
    case 'lease.expired':
      return lostLease(task, receipt, numberIn(said.expiry_count) ?? expiry_count + 1)
    case 'lease.released': {
      const isRecovered = typeof said.reclaimed_by_instance_id === 'string'
      return isRecovered
        ? lostLease(task, receipt, expiry_count + 1)
        : requeued(task, receipt, { expiry_count })
    }
    default:
      return undefined
  }
}

/** After the last expiry the task fails under its lease. */
function lostLease(task: OpenTask, receipt: Receipt, expiry_count: number): OpenTask {
  if (expiry_count >= task.max_expiries) return { ...task, expiry_count }
  return requeued(task, receipt, { expiry_count })
}

/** Without its contents a lease has ended when it began: nobody knows for how long it was renewed. */
function held(task: OpenTask, { receipt, contents }: Restore): OpenTask {
  const { from, lease_id, created_at } = receipt
  if (lease_id === null) return task
  const known = contents.lease ?? {
    ...{ worker_id: parsePrincipalKey(from).id, instance_id: null, expires_at: created_at, renewals: 0 },
  }
  const lease = { lease_id, holder: from, acquired_at: created_at, ...known }
  const fence = task.fence + 1
  return asHeld(task, { fence, updated_at: created_at, status: 'leased', lease, started_at: null })
}

function progressed(draft: Draft, task: OpenTask, receipt: Receipt, said: Said): OpenTask {
  const { lease_id, created_at } = receipt
  const n = task.progress_count + 1
  const { tenant, task_id } = task
  const progress = textOf(said.progress)
  if (lease_id !== null && progress !== null) {
    draft.progress({ tenant, task_id, n, at: created_at, lease_id, progress })
  }
  return { ...task, progress_count: n }
}

/** A second completion adds the evidence that the first one lacked. */
function complete(draft: Draft, task: Task, { receipt, contents }: Restore, said: Said): void {
  const artifacts = textOf(said.artifacts)
  const delivery_proof = textOf(said.delivery_proof)
  const isClosing = receipt.parents.length > 0
  if (task.status === 'succeeded') {
    if (!isClosing) return
    const outcome = { ...task.outcome, artifacts, delivery_proof, receipt_seq: receipt.seq }
    draft.task({ ...task, outcome: { ...outcome, obligation_open: false } })
    draft.close(task)
    return
  }
  const isElsewhere = typeof said.result_hash === 'string' || receipt.erased === true
  const result = contents.result ?? (isElsewhere ? null : canonical(said.result_payload ?? null))
  end(draft, task, receipt, 'succeeded', {
    ...{ result, artifacts, delivery_proof, obligation_open: !isClosing },
  })
}

function fail(draft: Draft, task: Task, receipt: Receipt, said: Said): void {
  const isLimit = isObject(said.error) && said.error.code === 'LEASE_EXPIRY_LIMIT'
  const dead_letter = said.retry_recommended === true || isLimit
  end(draft, task, receipt, 'failed', { error: textOf(said.error) ?? ERASED, dead_letter })
}

function end(
  draft: Draft,
  task: Task,
  { seq, created_at }: Receipt,
  status: TerminalStatus,
  ending: Partial<Outcome>,
): void {
  if (!isOpen(task)) return
  const { lease_id, holder, worker_id } = isHeld(task) ? task.lease : NO_LEASE
  const outcome: Outcome = {
    ...{ completed_at: created_at, result: null, error: null, artifacts: null, delivery_proof: null },
    ...{ receipt_seq: seq, obligation_open: false, dead_letter: false },
    ...ending,
  }
  const done: DoneTask = asDone(task, {
    updated_at: created_at,
    status,
    lease: lease_id === null ? null : { lease_id, holder, worker_id },
    started_at: isHeld(task) ? task.started_at : null,
    outcome,
  })
  draft.task(done)
  if (!outcome.obligation_open) draft.close(done)
}

/** Until the next receipt says more. */
const CANCELED = canonical({ code: 'CANCELED', message: 'The task was canceled.' })
const ERASED = canonical({ code: 'ERASED', message: 'The error was erased.' })

const NO_LEASE = { lease_id: null, holder: null, worker_id: null } as const

/** The notice of the end has the error of a canceled task, which the receipt of the cancellation lacks. */
function addError(draft: Draft, task: Task, { error }: Said): void {
  const text = textOf(error)
  if (isOpen(task) || text === null || task.outcome.error === text) return
  draft.task({ ...task, outcome: { ...task.outcome, error: text } })
}

/** An acknowledged item leaves the inbox. */
function acknowledge(draft: Draft, { from, parents, created_at }: Receipt): void {
  for (const seq of parents) {
    const item = draft.world.item(from, seq)
    if (item !== undefined) draft.mark(marked(marked(item, 'read', created_at), 'archived', created_at))
  }
}

function inboxesOf(receipt: Receipt, task: Task | undefined, said: Said): PrincipalKey[] {
  const { receipt_type, to } = receipt
  if (receipt_type === 'task.progress') return said.milestone === true ? [to] : []
  if (receipt_type === 'lease.expired') return said.requeued === false ? [to] : []
  if (!asksForAttention(receipt_type)) return []
  const isForAgent = receipt_type === 'task.result_ready' || receipt_type === 'question.asked'
  const onBehalf: PrincipalKey[] = task !== undefined && isForAgent ? [`agent:${task.principal_ai}`] : []
  return [...new Set([to, ...onBehalf])]
}
