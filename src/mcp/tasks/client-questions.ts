import { type ElicitRequest, isSpecType } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { type Fault, invalid } from '../../core/errors.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { Links } from '../../features/links.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { isObject } from '../../util/guards.ts'
import { cleanLine, visibleJson } from '../../util/untrusted-text.ts'
import { asFault, type Call } from '../tools/tool.ts'
import { type Elicits, elicitsOf } from '../transport/capabilities.ts'
import { clientOf } from '../transport/client-instance.ts'
import { type InputQuestion, questionOf, type Response } from './questions.ts'

/** A question that a client can show to its user. */
export interface ClientQuestion {
  readonly n: number
  /** Unique within the task. */
  readonly key: string
  readonly answer: AnswerMode
  /** The request with which the client asks its user. */
  readonly request: ElicitRequest
}

/**
 * How a question is answered. `page`: a person decides on a page of the console, and opening it decides nothing.
 * `approval`: the user of the client decides in a form, where a rule allows that.
 */
type AnswerMode =
  | { readonly by: 'input'; readonly question: InputQuestion }
  | { readonly by: 'approval' }
  | { readonly by: 'page' }

/** The client that is asked. */
export interface Viewer extends Elicits {
  readonly principal: PrincipalKey
}

export function viewerOf(call: Call, caller: Caller): Viewer {
  return { ...elicitsOf(call), principal: principalKey(caller.principal) }
}

type Asking = Pick<
  TaskView,
  'task_id' | 'type' | 'question' | 'created_by' | 'payload' | 'payload_pointer' | 'body' | 'inputs'
>

/** The open question of a task, if the client can show it. `problem` tells why the last answer was refused. */
export function clientQuestion(
  task: Asking,
  viewer: Viewer,
  links: Links,
  problem?: string,
): ClientQuestion | undefined {
  const { question } = task
  if (question === null) return undefined
  const asked = { n: question.n, key: keyOf(question.n) }
  const shown = shownQuestion(task, viewer, links)
  if (shown === undefined) return undefined
  const { answer, params } = shown
  const message = problem === undefined ? params.message : `${problem}\n\n${params.message}`
  const request = { method: 'elicitation/create', params: { ...params, message } }
  // A form that clients would refuse is not sent.
  return isSpecType.ElicitRequest(request) ? { ...asked, answer, request } : undefined
}

export function keyOf(n: number): string {
  return `q${n}`
}

interface ShownQuestion {
  readonly answer: AnswerMode
  readonly params: { readonly message: string } & Fields
}

function shownQuestion(task: Asking, viewer: Viewer, links: Links): ShownQuestion | undefined {
  const input = questionOf(task)
  if (input !== undefined) return inputQuestion(task, input, viewer)
  const form = viewer.form ? approvalForm(task, viewer) : undefined
  return form ?? (viewer.url ? approvalPage(task, links) : undefined)
}

/** A page of an upstream is shown as a link, or else in the message of a form. */
function inputQuestion(task: Asking, question: InputQuestion, viewer: Viewer): ShownQuestion | undefined {
  const { message, form, url } = question
  const answer = { by: 'input', question } as const
  if (url !== undefined && viewer.url)
    return { answer, params: { mode: 'url', message, url, elicitationId: elicitationIdOf(task) } }
  if (!viewer.form) return undefined
  return { answer, params: { mode: 'form', message, requestedSchema: form.schema } }
}

function elicitationIdOf({ task_id, question }: Asking): string {
  return `${task_id}.${question?.n}`
}

function approvalPage(task: Asking, links: Links): ShownQuestion | undefined {
  const { console_url: url } = links.console(task.task_id, 'pending_approval')
  if (url === undefined || !/^https?:\/\//.test(url)) return undefined
  const message = `${requestWords(task)} Open this page to approve or deny it.`
  const elicitationId = elicitationIdOf(task)
  return { answer: { by: 'page' }, params: { mode: 'url', message, url, elicitationId } }
}

/** The user must see what they approve, so larger work is decided in the console. */
const MAX_WORK = 4_000

const APPROVAL_FORM: Fields = {
  type: 'object',
  properties: {
    approve: { type: 'boolean', title: 'Approve', description: 'No denies the request' },
    reason: { type: 'string', title: 'Reason', maxLength: 2000 },
  },
  required: ['approve'],
}

function approvalForm(task: Asking, { principal }: Viewer): ShownQuestion | undefined {
  const { question, created_by } = task
  if (question?.origin !== 'policy' || principal !== principalKey(created_by)) return undefined
  if (!isObject(question.request) || question.request.approve_by !== 'client') return undefined
  const work = visibleJson(workOf(task))
  if (work.length > MAX_WORK) return undefined
  const message = `${requestWords(task)}\n\n${work}`
  return { answer: { by: 'approval' }, params: { mode: 'form', message, requestedSchema: APPROVAL_FORM } }
}

/** What the worker will receive. */
function workOf({ payload, body, inputs, payload_pointer }: Asking): object {
  const hasInputs = isObject(inputs) && Object.keys(inputs).length > 0
  return {
    payload,
    ...(body !== null && { body }),
    ...(hasInputs && { inputs }),
    ...(!payload_pointer.startsWith('inline:') && { payload_pointer }),
  }
}

const MAX_TEXT = 300

/** Who asks for what, and why approval is required. */
function requestWords({ type, question, created_by }: Asking): string {
  const { title, reason } = isObject(question?.request) ? question.request : {}
  const line = (text: unknown) => (typeof text === 'string' ? cleanLine(text, MAX_TEXT) : '')
  // The title of a rule names the owner; a worker may write anything.
  const what =
    question?.origin === 'policy'
      ? `${line(title)}.`
      : `A worker asks about the task ${line(type)} of ${principalKey(created_by)}: ${line(title)}`
  return ['Approval required.', what, line(reason)].filter((part) => part !== '').join(' ')
}

/** Whether a response leaves the question open. An upstream receives every response and continues. */
export function leavesOpen({ answer }: ClientQuestion, { action }: Response): boolean {
  return (
    answer.by === 'page' || (action === 'cancel' && !(answer.by === 'input' && answer.question.isUpstream))
  )
}

/** Applies the response of a client to the open question of a task. A declined form cancels the task or denies it. */
export async function respond(
  gate: Gate,
  caller: Caller,
  call: Call,
  task_id: string,
  asked: ClientQuestion,
  response: Response,
): Promise<void> {
  const { n, answer } = asked
  if (answer.by === 'page' || leavesOpen(asked, response)) return
  const isAccepted = response.action === 'accept'
  if (answer.by === 'approval') {
    const decision = isAccepted ? decisionIn(response.content) : { approve: false, reason: undefined }
    await gate.decideInClient(caller, clientOf(call), { task_id, n, ...decision })
  } else if (isAccepted) {
    await gate.answerQuestion(caller, { task_id, n, content: answer.question.form.read(response.content) })
  } else if (answer.question.isUpstream) {
    await gate.answerQuestion(caller, { task_id, n, action: response.action })
  } else {
    await gate.cancelTask(caller, { task_id, reason: 'The input that it asked for was declined.' })
  }
}

/** Why a response was refused, in words: it is invalid. The first decision counts, so a later one is ignored. */
export async function refusalOf(
  responding: Promise<void>,
  onError: (error: unknown) => void,
): Promise<string | undefined> {
  try {
    await responding
    return undefined
  } catch (error) {
    const fault = asFault(error, onError)
    if (fault.code === 'VALIDATION_ERROR') return `The answer was refused: ${fault.message}`
    if (isDecided(fault)) return undefined
    throw fault
  }
}

/** Whether another caller was faster. */
export function isDecided({ code }: Fault): boolean {
  return code === 'ALREADY_DECIDED' || code === 'QUESTION_NOT_FOUND'
}

const MAX_REASON = 2_000

function decisionIn({ approve, reason }: Fields): { approve: boolean; reason: string | undefined } {
  if (typeof approve !== 'boolean') throw invalid('content.approve', 'is not true or false')
  const said = typeof reason === 'string' ? cleanLine(reason, MAX_REASON) : ''
  return { approve, reason: said === '' ? undefined : said }
}
