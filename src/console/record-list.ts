import { type Content, type Html, html } from '../util/html.ts'
import { empty, faultBox, heading, notice, pager, statusOf } from './components.ts'
import { link } from './fields.ts'
import type { Page, Visit } from './visit.ts'

/** Records on one page of the console. */
export const RECORDS_PER_PAGE = 50

interface RecordList {
  readonly title: string
  readonly section: NonNullable<Page['section']>
  readonly path: string
  /** What the records are. */
  readonly about: string
  /** The forms above the list. */
  readonly forms: Content
  /** The table of the records; undefined if there are none. */
  readonly records: Html | undefined
  /** What is shown if there are no records. */
  readonly none: readonly [text: string, hint: Content]
  readonly next_cursor: string | null
}

/** The page of a list of records that admins create and remove. */
export function recordList({ query, fault }: Visit, list: RecordList): Page {
  const { title, section, path, about, forms, records, none, next_cursor } = list
  return {
    title,
    section,
    status: statusOf(fault),
    body: html`${heading(title)}
${notice(query)}
${faultBox(fault)}
<p class="soft">${about}</p>
${forms}
${records ?? empty(...none)}
${pager(
  query.has('cursor') && html`<a class="button" href="${path}">First page</a>`,
  next_cursor !== null && html`<a class="button" href="${link(path, { cursor: next_cursor })}">Next page</a>`,
)}`,
  }
}

/** Controls of a record that open below their button. */
export function recordAction(label: string, name: Content, content: Content, kind = ''): Html {
  return html`<details class="sure"><summary class="button small ${kind}">${label}<span class="quiet"> ${name}</span></summary>${content}</details>`
}
