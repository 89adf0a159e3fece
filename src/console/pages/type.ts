import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { Json } from '../../core/json/json.ts'
import type { getTaskType } from '../../features/task-types/operations.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import {
  bothTimes,
  count,
  facts,
  faultBox,
  form,
  heading,
  hidden,
  jsonBlock,
  line,
  seconds,
  statusOf,
  tabs,
} from '../components.ts'
import { itemPath, jsonIn, link, textIn } from '../fields.ts'
import { controls } from '../schema-form/controls.ts'
import { formOf } from '../schema-form/field.ts'
import { defaultsOf, ROOT, sizeIn, sizeName, valueIn } from '../schema-form/values.ts'
import type { Page, Visit } from '../visit.ts'

type TaskType = z.output<typeof getTaskType.output>

/** One task type: what is known about it, and a form that creates a task. */
export function typePage(type: TaskType, visit: Visit): Page {
  const { now, fault, may } = visit
  const { payload_schema, output_schema } = type
  return {
    title: type.type,
    section: 'types',
    status: statusOf(fault),
    body: html`<p class="crumbs"><a href="/console/types">Task types</a></p>
${heading(line(type.type, 120))}
${type.description !== null && html`<p class="lead">${line(type.description, 1000)}</p>`}
<div class="columns">
${may('create') && html`<section aria-labelledby="h-create"><h2 id="h-create">Create a task</h2>${creation(type, visit)}</section>`}
<div>
<section aria-labelledby="h-facts" data-live="facts"><h2 id="h-facts">Facts</h2>${factsOf(type, now)}</section>
${payload_schema !== null && html`<details><summary>Schema of the payload</summary>${jsonBlock(payload_schema, 'Schema of the payload')}</details>`}
${output_schema !== null && html`<details><summary>Schema of the result</summary>${jsonBlock(output_schema, 'Schema of the result')}</details>`}
</div>
</div>`,
  }
}

/** The payload of a form that was sent. Throws a fault that names the path of a wrong value. */
export function payloadIn({ payload_schema }: TaskType, sent: URLSearchParams): Json | undefined {
  const fields = formOf(payload_schema)
  if (fields === undefined || sent.get('as') === 'json') return jsonIn(sent, 'payload')
  return valueIn(fields, ROOT, sent)
}

function creation(type: TaskType, visit: Visit): Html {
  const { query, form: sent, token, fault } = visit
  const fields = formOf(type.payload_schema)
  const path = itemPath('types', type.type)
  const isJson = fields === undefined || (sent.get('as') ?? textIn(query, 'as')) === 'json'
  if (!type.enabled) return html`<p>The type is disabled: no tasks of it can be created.</p>`
  return html`${type.live_workers === 0 && html`<div class="notice plain" role="status">No live worker takes this type. The task waits until one does.</div>`}
${faultBox(fault)}
${
  fields !== undefined &&
  tabs('Input', [
    { label: 'Form', href: path, current: !isJson },
    { label: 'JSON', href: link(path, { as: 'json' }), current: isJson },
  ])
}
${form(
  token,
  path,
  html`<button class="quiet" tabindex="-1" aria-hidden="true">Create task</button>${hidden({ key: sent.get('key') ?? randomUUID(), as: isJson ? 'json' : 'form' })}
${isJson ? jsonField(type, sent) : controls(fields, { sent: withAdded(sent.has('token') ? sent : defaultsOf(fields)), fault })}
${options(sent)}
<button class="button primary">Create task</button>`,
  'stack',
)}`
}

/** A list has one more item after its button was pressed. */
function withAdded(sent: URLSearchParams): URLSearchParams {
  const name = sent.get('add')
  if (name === null) return sent
  const more = new URLSearchParams(sent)
  const place = { ...ROOT, name }
  more.set(sizeName(place), String(sizeIn(sent, place) + 1))
  return more
}

function jsonField({ payload_schema }: TaskType, sent: URLSearchParams): Html {
  const text = sent.get('payload') ?? visibleJson(skeletonOf(payload_schema))
  return html`<label for="payload">Payload, as JSON</label><textarea id="payload" name="payload" class="code" rows="${Math.max(8, text.split('\n').length + 1)}" spellcheck="false">${text}</textarea>`
}

/** An object with the required members, to be filled in. */
function skeletonOf(schema: TaskType['payload_schema']): object {
  const required = Array.isArray(schema?.required) ? schema.required : []
  return Object.fromEntries(required.map((name) => [String(name), null]))
}

function options(sent: URLSearchParams): Html {
  const value = (name: string) => sent.get(name) ?? ''
  const isOpen = ['summary', 'priority', 'delay'].some((name) => value(name) !== '')
  return html`<details${isOpen && html` open`}><summary>Options</summary>
<label for="summary">Summary</label><input id="summary" name="summary" maxlength="2000" value="${value('summary')}" autocomplete="off">
<label for="priority">Priority</label><input id="priority" name="priority" inputmode="numeric" value="${value('priority')}" autocomplete="off">
<label for="delay">Delay in seconds</label><input id="delay" name="delay" inputmode="numeric" value="${value('delay')}" autocomplete="off">
</details>`
}

function factsOf(type: TaskType, now: number): Html {
  const or = (value: number | null, words: (value: number) => string): Content =>
    value === null ? html`<span class="soft">default of the server</span>` : words(value)
  return facts([
    {
      name: 'Live workers',
      value: type.live_workers === null ? 'unknown' : count(type.live_workers),
    },
    {
      name: 'Usual duration',
      value: type.usual_seconds === null ? 'unknown' : seconds(type.usual_seconds),
    },
    {
      name: 'Tasks',
      value: html`<a href="${link('/console/tasks', { type: type.type })}">Show its tasks</a>`,
    },
    {
      name: 'Defined by',
      value: type.published_by === 'registered' ? 'an admin' : 'the workers that serve it',
    },
    type.conflict && {
      name: 'Conflict',
      value: html`<span class="warn">Live workers publish different schemas. The newest one counts.</span>`,
    },
    { name: 'MCP tool', value: type.tool === null ? 'no' : line(type.tool.name ?? type.type, 80) },
    { name: 'Priority', value: or(type.default_priority, count) },
    { name: 'Attempts', value: or(type.default_max_attempts, count) },
    { name: 'Time limit', value: or(type.default_timeout_seconds, seconds) },
    { name: 'Changed', value: bothTimes(type.updated_at, now) },
  ])
}
