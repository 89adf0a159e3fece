import { z } from 'zod'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { bothTimes, copyableId, facts, jsonBlock, line, principal, status, time } from '../components.ts'
import { itemPath } from '../fields.ts'
import { taskQuery, tasksWith } from './task-query.ts'
import { titleOf } from './task-title.ts'

/** The tasks around a task. */
export interface Relatives {
  readonly children: readonly TaskView[]
  /** The task that this one repeats or follows from. */
  readonly repeats: string | null
  readonly repeated_as: readonly string[]
}

export function taskFacts(task: TaskView, relatives: Relatives, now: number): Html {
  const { session_id, labels, created_by, worker_id } = task
  const owner = `${created_by.kind}:${created_by.id}`
  return facts([
    { name: 'Task', value: copyableId(task.task_id) },
    {
      name: 'Type',
      value: html`<a href="${tasksWith(taskQuery('type', task.type))}">${line(task.type)}</a>`,
    },
    {
      name: 'Agent',
      value: html`<a href="${tasksWith(taskQuery('agent', owner))}">${principal(created_by)}</a>`,
    },
    task.principal_ai !== created_by.id && { name: 'On behalf of', value: line(task.principal_ai) },
    session_id !== null && {
      name: 'Session',
      value: html`<a href="${tasksWith(taskQuery('session', session_id))}">${line(session_id, 80)}</a>`,
    },
    worker_id !== null && {
      name: 'Worker',
      value: html`<a href="${tasksWith(taskQuery('worker', worker_id))}">${line(worker_id, 80)}</a>${task.lease && html` <span class="soft">lease ends ${time(task.lease.expires_at, now)}</span>`}`,
    },
    { name: 'Created', value: bothTimes(task.created_at, now) },
    { name: 'Updated', value: bothTimes(task.updated_at, now) },
    task.next_eligible_at !== null && { name: 'Not before', value: bothTimes(task.next_eligible_at, now) },
    task.deadline_at !== null && { name: 'Deadline', value: bothTimes(task.deadline_at, now) },
    {
      name: 'Attempt',
      value: `${Math.min(task.attempt + 1, task.max_attempts)} of ${task.max_attempts}`,
    },
    task.expiry_count > 0 && { name: 'Expiries', value: `${task.expiry_count} of ${task.max_expiries}` },
    task.priority !== 0 && { name: 'Priority', value: task.priority },
    task.dead_letter === true && { name: 'Dead letter', value: 'yes: retries or expiries ran out' },
    Object.keys(labels).length > 0 && {
      name: 'Labels',
      value: Object.entries(labels).map(
        ([k, v]) => html`<span class="chip">${line(k, 64)}=${line(v, 64)}</span> `,
      ),
    },
    task.parent_task_id !== null && { name: 'Parent', value: taskLink(task.parent_task_id) },
    relatives.repeats !== null &&
      relatives.repeats !== task.task_id && {
        name: 'Follows from',
        value: taskLink(relatives.repeats),
      },
    relatives.repeated_as.length > 0 && {
      name: 'Retried as',
      value: relatives.repeated_as.map((id) => html`<div>${taskLink(id)}</div>`),
    },
    relatives.children.length > 0 && { name: 'Children', value: childList(task, relatives.children) },
    task.policy !== null && { name: 'Rule', value: ruleWords(task.policy) },
  ])
}

function taskLink(id: string): Html {
  return html`<a href="${itemPath('tasks', id)}"><code>${line(id, 60)}</code></a>`
}

function childList({ task_id }: TaskView, children: readonly TaskView[]): Html {
  return html`<ul class="children">${children.map(
    (child) =>
      html`<li><a href="${itemPath('tasks', child.task_id)}">${line(titleOf(child), 60)}</a> ${status(child.status)}</li>`,
  )}</ul><a href="${tasksWith(`parent:${task_id}`)}">Show as a list</a>`
}

const policyShape = z.looseObject({
  action: z.string(),
  rule_id: z.string().nullable().optional(),
  reason: z.string().nullable().optional(),
  redacted_fields: z.array(z.string()).optional(),
})

const EFFECTS = new Map([
  ['ALLOW', 'allowed'],
  ['REQUIRE_APPROVAL', 'needed approval'],
  ['BLOCK', 'blocked'],
  ['REDACT', 'allowed, with parts removed'],
])

/** What the rules decided, in words. */
export function ruleWords(policy: unknown): Content {
  const { success, data } = policyShape.safeParse(policy)
  if (!success) return jsonBlock(policy, 'Policy decision')
  const { action, rule_id, reason, redacted_fields = [] } = data
  return html`${EFFECTS.get(action) ?? line(action, 60)}${typeof rule_id === 'string' && html` by <a href="${itemPath('policies/rules', rule_id)}">${line(rule_id, 60)}</a>`}${typeof reason === 'string' && html`<br><span class="soft">${line(reason, 500)}</span>`}${redacted_fields.length > 0 && html`<br><span class="soft">removed: ${line(redacted_fields.join(', '), 300)}</span>`}`
}
