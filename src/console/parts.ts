import { visibleJson } from '../util/untrusted-text.ts'
import { type Content, type Html, html } from './html.ts'
import { block, line } from './untrusted.ts'

// What several pages show in the same way.

/** A form that changes something. */
export function form(token: string, action: string, content: Content, kind = ''): Html {
  return html`<form method="post" action="${action}"${kind !== '' && html` class="${kind}"`}><input type="hidden" name="token" value="${token}">${content}</form>`
}

export function status(value: string): Html {
  return html`<span class="status status-${value}">${value.replaceAll('_', ' ')}</span>`
}

interface Principal {
  readonly kind: string
  readonly id: string
}

export function principal({ kind, id }: Principal): Html {
  return html`<span class="principal"><span class="soft">${kind}:</span>${line(id, 80)}</span>`
}

/** The most that a page shows of one value. Whoever decides must see it all, so it is more than payloads have. */
const MAX_JSON = 1024 * 1024

export function jsonBlock(value: unknown, label: string): Html {
  return html`<pre class="json" tabindex="0" role="region" aria-label="${label}">${block(visibleJson(value), MAX_JSON)}</pre>`
}

/** Less than of JSON: what is hidden in a text takes more room than it did. */
const MAX_TEXT = 256 * 1024

export function textBlock(text: string, label: string): Html {
  return html`<pre class="text" tabindex="0" role="region" aria-label="${label}">${block(text, MAX_TEXT)}</pre>`
}

export interface Fact {
  readonly name: string
  readonly value: Content
}

export function facts(list: readonly (Fact | false | undefined)[]): Html {
  return html`<dl class="facts">${list.map((fact) => fact && html`<div><dt>${fact.name}</dt><dd>${fact.value}</dd></div>`)}</dl>`
}

export function empty(title: string, hint: Content): Html {
  return html`<div class="empty"><p class="empty-title">${title}</p><p>${hint}</p></div>`
}

export function heading(title: Content, aside: Content = ''): Html {
  return html`<div class="heading"><h1>${title}</h1>${aside}</div>`
}

/** What went wrong with what was just sent. */
export function complaint(problem: Content): Html {
  return html`<div class="notice bad" role="alert">${problem}</div>`
}

export interface Tab {
  readonly label: string
  readonly href: string
  readonly current: boolean
}

export function tabs(label: string, list: readonly Tab[]): Html {
  return html`<nav class="tabs" aria-label="${label}"><ul>${list.map(
    (tab) =>
      html`<li><a href="${tab.href}"${tab.current && html` aria-current="page"`}>${tab.label}</a></li>`,
  )}</ul></nav>`
}

/** An id that people copy. */
export function identifier(id: string): Html {
  return html`<code class="id">${line(id)}</code>`
}
