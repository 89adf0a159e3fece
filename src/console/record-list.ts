import { type Html, html } from '../util/html.ts'
import { empty, faultBox, heading, notice, statusOf } from './components.ts'
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
  readonly forms: Html
  readonly cards: readonly Html[]
  /** What is shown if there are no records. */
  readonly none: readonly [text: string, hint: string]
  readonly next_cursor: string | null
}

/** The page of a list of records that admins create and remove. */
export function recordList({ query, fault }: Visit, list: RecordList): Page {
  const { title, section, path, about, forms, cards, none, next_cursor } = list
  return {
    title,
    section,
    status: statusOf(fault),
    body: html`${heading(title)}
${notice(query)}
${faultBox(fault)}
<p class="soft">${about}</p>
${forms}
${cards.length === 0 ? empty(...none) : html`<ul class="cards">${cards}</ul>`}
${next_cursor !== null && html`<p><a class="button" href="${link(path, { cursor: next_cursor })}">Next page</a></p>`}`,
  }
}
