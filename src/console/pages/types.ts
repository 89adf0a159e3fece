import type { z } from 'zod'
import { getTaskType, listTaskTypes } from '../../features/task-types/operations.ts'
import { createTask } from '../../features/tasks/create-task.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { command, count, empty, heading, line, pager, seconds, table, tableRow } from '../components.ts'
import { integerIn, itemPath, link, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'
import { payloadIn, typePage } from './type.ts'

type TaskType = z.output<typeof getTaskType.output>

const LIST = '/console/types'
const PAGE_SIZE = 100
/** Workers appear and leave without events of tasks. */
const POLL_SECONDS = 10

export const typeRoutes = [
  page('/types', showTypes),
  page('/types/{type}', showType),
  action(
    '/types/{type}',
    async (visit) => {
      const { call, params, form: sent } = visit
      // A button that adds an item to a list only shows the form again.
      if (sent.has('add')) return showType(visit)
      const type = await call(getTaskType, { type: params.type })
      const { task_id } = await call(createTask, {
        type: type.type,
        payload: payloadIn(type, sent),
        summary: textIn(sent, 'summary'),
        priority: integerIn(sent, 'priority'),
        delay_seconds: integerIn(sent, 'delay'),
        idempotency_key: textIn(sent, 'key'),
      })
      return redirect(itemPath('tasks', task_id), { notice: 'created' })
    },
    showType,
  ),
]

async function showType(visit: Visit): Promise<Reply> {
  const type = await visit.call(getTaskType, { type: visit.params.type })
  return { ...typePage(type, visit), poll: POLL_SECONDS }
}

async function showTypes({ call, query: given }: Visit): Promise<Reply> {
  const [query, cursor] = [textIn(given, 'q'), textIn(given, 'cursor')]
  const { task_types, next_cursor } = await call(listTaskTypes, { query, cursor, limit: PAGE_SIZE })
  return {
    title: 'Task types',
    section: 'types',
    poll: POLL_SECONDS,
    body: html`${heading('Task types')}
<form class="inline" method="get" action="${LIST}" role="search" aria-label="Search task types"><label class="quiet" for="f-q">Name or description</label><input id="f-q" name="q" value="${query ?? ''}" placeholder="Name or description" autocomplete="off" spellcheck="false"><button class="button">Search</button>${query !== undefined && html`<a class="link" href="${LIST}">Clear</a>`}</form>
<div data-live="list">${task_types.length === 0 ? none(query) : typeTable(task_types)}</div>
${pager(
  cursor !== undefined && html`<a class="button" href="${link(LIST, { q: query })}">First page</a>`,
  next_cursor !== null &&
    html`<a class="button" href="${link(LIST, { q: query, cursor: next_cursor })}">Next page</a>`,
)}`,
  }
}

const COLUMNS = [
  { label: 'Type', kind: 'wide' },
  { label: 'Live workers', kind: 'number' },
  { label: 'Usual duration', kind: 'number' },
  { label: 'Defined by', kind: 'tight', isExtra: true },
  { label: 'Version', kind: 'number', isExtra: true },
] as const

function typeTable(types: readonly TaskType[]): Html {
  const row = (type: TaskType) =>
    tableRow(type.type, COLUMNS, [
      html`<a href="${itemPath('types', type.type)}">${line(type.type, 100)}</a>${marks(type)}${type.description !== null && html`<span class="row-sub">${line(type.description, 160)}</span>`}`,
      liveWorkers(type),
      type.usual_seconds === null ? html`<span class="soft">unknown</span>` : seconds(type.usual_seconds),
      type.published_by === 'registered' ? 'an admin' : 'its workers',
      type.version > 0 && count(type.version),
    ])
  return table('Task types', COLUMNS, types.map(row))
}

function marks({ enabled, tool, conflict }: TaskType): Content {
  return [
    !enabled && html` <span class="status">disabled</span>`,
    tool !== null && html` <span class="chip">tool</span>`,
    conflict && html` <span class="status status-warn">different schemas</span>`,
  ]
}

function liveWorkers({ live_workers }: TaskType): Content {
  if (live_workers === null) return html`<span class="soft">unknown</span>`
  return live_workers === 0 ? html`<span class="warn">0</span>` : count(live_workers)
}

function none(query: string | undefined): Html {
  if (query !== undefined)
    return empty('No task type matches.', html`<a href="${LIST}">Show all task types</a>`)
  return empty(
    'There are no task types.',
    html`Workers publish the types that they serve, with the schemas of their payloads. An admin can also register one:${command(
      `npx asyncgate types register types.yaml`,
    )}Tasks of other types can be created too; they are only not described.`,
  )
}
