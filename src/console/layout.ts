import { visibleLine } from '../util/untrusted-text.ts'
import { type Content, type Html, html } from './html.ts'
import { type Page, PLACES, type Place } from './reply.ts'
import { line } from './untrusted.ts'

export interface Assets {
  /** Paths that change with what is in the files. */
  readonly css: string
  readonly js: string
}

export interface Frame {
  readonly assets: Assets
  /** Who has signed in; undefined on pages that anybody may see. */
  readonly person?: { readonly name: string; readonly token: string; readonly canLeave: boolean }
  /** Approvals that wait; undefined if that is not known. */
  readonly pending?: Pending | undefined
}

export interface Pending {
  readonly count: number
  /** There are more than were counted. */
  readonly more: boolean
}

const LABELS: Readonly<Record<Place, string>> = {
  approvals: 'Approvals',
  tasks: 'Tasks',
  sessions: 'Sessions',
  upstreams: 'Upstreams',
  policies: 'Policies',
}

/** A whole page around its content. */
export function layout(page: Omit<Page, 'kind'>, frame: Frame): Html {
  const { assets, person, pending } = frame
  const waiting = pending === undefined || pending.count === 0 ? '' : shownCount(pending)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${page.onward !== undefined && html`<meta http-equiv="refresh" content="0; url=${page.onward}">`}
<title>${waiting && `(${waiting}) `}${visibleLine(page.title, 80)} · AsyncGate</title>
<link rel="stylesheet" href="${assets.css}">
<link rel="icon" type="image/svg+xml" href="/console/icon.svg${waiting && `?n=${waiting}`}">
<script src="${assets.js}" defer></script>
</head>
<body${liveAttributes(page)}>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="brand" href="/console">${LOGO}<span>AsyncGate</span></a>
${person && navigation(page.place, waiting)}
${person && whoIsIn(person)}
</header>
<main id="main" tabindex="-1">
${page.body}
</main>
${person && KEYS}
</body>
</html>
`
}

function liveAttributes({ follows, poll, address }: Pick<Page, 'follows' | 'poll' | 'address'>): Content {
  const task = typeof follows === 'object' ? `?task_id=${encodeURIComponent(follows.task_id)}` : ''
  return [
    follows !== undefined && html` data-events="/console/events${task}"`,
    poll !== undefined && html` data-poll="${poll}"`,
    address !== undefined && html` data-address="${address}"`,
  ]
}

function navigation(current: Place | undefined, waiting: string): Html {
  return html`<nav aria-label="Console" data-live="nav"><ul>${PLACES.map(
    (place) =>
      html`<li><a href="/console/${place}"${place === current && html` aria-current="page"`}>${LABELS[place]}${
        place === 'approvals' &&
        waiting &&
        html` <span class="badge"><span class="quiet">waiting: </span>${waiting}</span>`
      }</a></li>`,
  )}</ul></nav>`
}

function whoIsIn({ name, token, canLeave }: NonNullable<Frame['person']>): Html {
  return html`<div class="person"><span class="quiet">Signed in as </span><span>${line(name, 40)}</span>${
    canLeave &&
    html`<form method="post" action="/console/logout"><input type="hidden" name="token" value="${token}"><button class="link">Sign out</button></form>`
  }</div>`
}

export function shownCount({ count, more }: Pending): string {
  return more ? `${count}+` : String(count)
}

const KEYS = html`<dialog id="keys" aria-labelledby="keys-title">
<h2 id="keys-title">Keys</h2>
<dl class="keys">
<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous</dd>
<dt><kbd>Enter</kbd></dt><dd>open</dd>
<dt><kbd>/</kbd></dt><dd>filter</dd>
<dt><kbd>a</kbd></dt><dd>to Approve</dd>
<dt><kbd>d</kbd></dt><dd>to Deny</dd>
<dt><kbd>c</kbd></dt><dd>to Cancel</dd>
<dt><kbd>x</kbd></dt><dd>select</dd>
<dt><kbd>?</kbd></dt><dd>this list</dd>
</dl>
<form method="dialog"><button class="button">Close</button></form>
</dialog>`

/** Two bars with a gap: a gate. */
const LOGO = html`<svg class="logo" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><rect x="3" y="3" width="5" height="18" rx="1.5"/><rect x="16" y="3" width="5" height="18" rx="1.5"/><circle cx="12" cy="12" r="2.2"/></svg>`

/** The same for the tab of the browser, with how many approvals wait. */
export function icon(waiting: string): Html {
  const badge = html`<circle cx="17" cy="7" r="7" fill="#d4351c"/><text x="17" y="10.2" font-family="system-ui,sans-serif" font-size="9" font-weight="700" text-anchor="middle" fill="#fff">${waiting.length > 2 ? '9+' : waiting}</text>`
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g fill="#2457c5"><rect x="3" y="3" width="5" height="18" rx="1.5"/><rect x="16" y="3" width="5" height="18" rx="1.5"/><circle cx="12" cy="12" r="2.2"/></g>${waiting !== '' && badge}</svg>`
}
