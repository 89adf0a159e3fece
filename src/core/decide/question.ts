import { sha256 } from '../../util/hash.ts'
import { body } from '../bodies.ts'
import type { Draft } from '../draft.ts'
import { type CanonicalJson, canonical } from '../json/json.ts'
import type { PrincipalKey } from '../principal.ts'
import type { Asked, DecidedState, Question, Verdict } from '../question.ts'
import type { ParkedTask, TaskCore } from '../task.ts'
import { cutAtDeadline, isoTime } from '../time.ts'
import type { World } from '../world.ts'

interface Asking {
  readonly by: PrincipalKey
  readonly lease_id: string | null
  readonly not_before: number | null
}

/** By default approvals expire after the configured time and input never does. Neither outlives the deadline. */
export function expiryOf(
  { now, settings }: World,
  task: TaskCore,
  { kind, expires_in_ms }: Asked,
): number | null {
  const standard = kind === 'approval' ? settings.approval_expires_seconds * 1000 : 0
  const ms = expires_in_ms ?? standard
  return ms > 0 ? cutAtDeadline(task, now + ms) : task.deadline_at
}

/** Writes the question that a task is parked by, and notifies its owner and the agent on whose behalf it is done. */
export function ask(
  draft: Draft,
  task: ParkedTask,
  asked: Asked,
  { by, lease_id, not_before }: Asking,
): number {
  const { world } = draft
  const n = task.question_count
  const seq = draft.receipt({
    type: 'question.asked',
    from: by,
    to: task.owner,
    task_id: task.task_id,
    lease_id,
    parents: [task.seq],
    body: body({
      content_hash: canonical(asked.content_hash),
      expires_at: canonical(task.expires_at === null ? null : isoTime(task.expires_at)),
      kind: canonical(asked.kind),
      n: canonical(n),
      request_hash: hashOf(asked.request),
    }),
  })
  const onBehalf: PrincipalKey = `agent:${task.principal_ai}`
  if (onBehalf !== task.owner) draft.file(onBehalf, seq)
  draft.question({
    tenant: task.tenant,
    task_id: task.task_id,
    n,
    kind: asked.kind,
    seq,
    asked_by: by,
    asked_at: world.now,
    lease_id,
    expires_at: task.expires_at,
    not_before,
    request: asked.request,
    state: 'open',
    decided_by: null,
    decided_at: null,
    decided_seq: null,
    answer: null,
    content_hash: asked.content_hash,
  })
  return seq
}

export type Decided = Question & {
  readonly state: DecidedState
  readonly decided_by: PrincipalKey
  readonly decided_at: number
  readonly decided_seq: number
}

export function isDecided(question: Question): question is Decided {
  return question.state !== 'open'
}

/** Ends a question, with the receipt that says how: each question has exactly one. */
export function decideQuestion(draft: Draft, task: TaskCore, question: Question, verdict: Verdict): Decided {
  const { state, by, answer, via } = verdict
  const content_hash = verdict.content_hash ?? question.content_hash
  const decided_seq = draft.receipt({
    type: 'question.answered',
    from: by,
    to: task.owner,
    task_id: task.task_id,
    parents: [task.seq, question.seq],
    body: body({
      answer_hash: answer === null ? null : hashOf(answer),
      content_hash: canonical(content_hash),
      decision: canonical(state),
      kind: canonical(question.kind),
      n: canonical(question.n),
      request_hash: hashOf(question.request),
      ...(via !== undefined && { via: canonical(via) }),
    }),
  })
  const decided = {
    ...question,
    state,
    decided_by: by,
    decided_at: draft.world.now,
    decided_seq,
    answer,
    content_hash,
  }
  draft.question(decided)
  return decided
}

/** Ends the question for which a task is parked. */
export function decideOpen(draft: Draft, task: TaskCore, verdict: Verdict): Decided {
  return decideQuestion(draft, task, openQuestion(draft.world, task), verdict)
}

export function openQuestion(world: World, task: TaskCore): Question {
  const question = world.questions(task.task_id).find(({ n }) => n === task.question_count)
  if (question === undefined || isDecided(question)) {
    throw new Error(`task ${task.task_id} is parked without an open question`)
  }
  return question
}

function hashOf(text: CanonicalJson): CanonicalJson {
  return canonical(sha256(text))
}
