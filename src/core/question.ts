import { type CanonicalJson, parseCanonical } from './json/json.ts'
import { GATEWAY, type PrincipalKey, principalKey } from './principal.ts'
import type { ParkedStatus } from './transitions.ts'

/** `approval`: a person says yes or no. `input`: the agent's side answers with data. */
export const QUESTION_KINDS = ['approval', 'input'] as const
export type QuestionKind = (typeof QUESTION_KINDS)[number]

export const QUESTION_STATES = ['open', 'approved', 'denied', 'answered', 'expired', 'withdrawn'] as const
export type QuestionState = (typeof QUESTION_STATES)[number]
export type DecidedState = Exclude<QuestionState, 'open'>

/** More in one task are a loop: each offer of the task carries the answers to all of them. */
export const MAX_QUESTIONS = 100

/** The status of a task that waits for a question of this kind. */
export const PARKED_BY: Readonly<Record<QuestionKind, ParkedStatus>> = {
  approval: 'pending_approval',
  input: 'input_required',
}

/** What a task waits for. While it is open, the task holds no lease and no worker can claim it. */
export interface Question {
  readonly tenant: number
  readonly task_id: string
  /** 1, 2, 3, ... within the task. */
  readonly n: number
  readonly kind: QuestionKind
  /** The seq of its question.asked receipt. */
  readonly seq: number
  /** The worker that asked; the gate itself if a rule did. */
  readonly asked_by: PrincipalKey
  readonly asked_at: number
  /** The lease that ended with it; null if a rule asked. */
  readonly lease_id: string | null
  /** Null: it waits for as long as it takes. */
  readonly expires_at: number | null
  /** The task was to wait until then anyway; null if not. */
  readonly not_before: number | null
  readonly request: CanonicalJson
  readonly state: QuestionState
  readonly decided_by: PrincipalKey | null
  readonly decided_at: number | null
  /** The seq of its question.answered receipt. */
  readonly decided_seq: number | null
  readonly answer: CanonicalJson | null
  /**
   * The hash of the request and of everything that the worker gets: as it was asked, or, once an approver has changed
   * the payload, as it was approved. Null for questions from before there was one.
   */
  readonly content_hash: string | null
}

/** Whether a rule of the gate asked, and not a worker. A worker asks under a lease, which ends. */
export function isAskedByGate({ lease_id }: Pick<Question, 'lease_id'>): boolean {
  return lease_id === null
}

/** Whether the rule that asked lets the user of the calling client decide. A worker cannot ask for that. */
export function isForClient(question: Pick<Question, 'kind' | 'lease_id' | 'request'>): boolean {
  if (question.kind !== 'approval' || !isAskedByGate(question)) return false
  const request = parseCanonical(question.request)
  return (
    typeof request === 'object' &&
    request !== null &&
    'approve_by' in request &&
    request.approve_by === 'client'
  )
}

/** Who can ask. */
export const QUESTION_ORIGINS = ['policy', 'worker', 'upstream'] as const
export type QuestionOrigin = (typeof QUESTION_ORIGINS)[number]

const GATEWAY_KEY = principalKey(GATEWAY)

/** The gateway asks only on behalf of upstreams. */
export function originOf(question: Pick<Question, 'lease_id' | 'asked_by'>): QuestionOrigin {
  if (isAskedByGate(question)) return 'policy'
  return question.asked_by === GATEWAY_KEY ? 'upstream' : 'worker'
}

/** What is asked, before it has a place in a task. */
export interface Asked {
  readonly kind: QuestionKind
  readonly expires_in_ms: number | null
  readonly request: CanonicalJson
  /** Of the request and of everything that the worker gets. */
  readonly content_hash: string | null
}

/** What ends a question. */
export interface Verdict {
  readonly state: DecidedState
  readonly by: PrincipalKey
  readonly answer: CanonicalJson | null
  /** Of what was approved, if the approver changed it. */
  readonly content_hash?: string | null
  /** The user of the client decided, in that client. */
  readonly via?: 'client' | undefined
}

/** What an approver has to know of a pointer that the agent gave. */
export const ELSEWHERE =
  'The worker may read what is at this place. It cannot be shown here, and it may change after you have decided.'
