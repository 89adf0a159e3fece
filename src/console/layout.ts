import { type Content, type Html, html } from '../util/html.ts'
import { visibleLine } from '../util/untrusted-text.ts'
import { line } from './components.ts'
import type { Assets } from './send.ts'
import { type Page, SECTIONS, type Section } from './visit.ts'

export interface Frame {
  readonly assets: Assets
  /** The person who is signed in; undefined on public pages. */
  readonly person?: { readonly name: string; readonly token: string; readonly canSignOut: boolean }
  /** Number of open approvals, such as `3` or `99+`; empty if there are none or the number is unknown. */
  readonly waiting?: string
}

/** The complete document of a page. */
export function layout(page: Page, { assets, person, waiting = '' }: Frame): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${page.next !== undefined && html`<meta http-equiv="refresh" content="0; url=${page.next}">`}
<title>${waiting && `(${waiting}) `}${visibleLine(page.title, 80)} · AsyncGate</title>
<link rel="stylesheet" href="${assets.css.path}">
<link rel="icon" type="image/svg+xml" href="/console/icon.svg${waiting && `?n=${waiting}`}">
<script src="${assets.js.path}" defer></script>
</head>
<body${liveAttributes(page)}>
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="/console">${LOGO}<span>AsyncGate</span></a>
${person && navigation(page.section, waiting)}
${person && personBox(person)}
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

function navigation(current: Section | undefined, waiting: string): Html {
  return html`<nav aria-label="Console" data-live="nav"><ul>${SECTIONS.map(
    (section) =>
      html`<li><a href="/console/${section}"${section === current && html` aria-current="page"`}>${section.charAt(0).toUpperCase() + section.slice(1)}${
        section === 'approvals' &&
        waiting &&
        html` <span class="badge"><span class="quiet">waiting: </span>${waiting}</span>`
      }</a></li>`,
  )}</ul></nav>`
}

function personBox({ name, token, canSignOut }: NonNullable<Frame['person']>): Html {
  return html`<div class="person"><span class="quiet">Signed in as </span><span>${line(name, 40)}</span>${
    canSignOut &&
    html`<form method="post" action="/console/logout"><input type="hidden" name="token" value="${token}"><button class="link">Sign out</button></form>`
  }</div>`
}

/** The list of keyboard shortcuts. */
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

const LOGO = html`<svg class="logo" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><rect x="3" y="3" width="5" height="18" rx="1.5"/><rect x="16" y="3" width="5" height="18" rx="1.5"/><circle cx="12" cy="12" r="2.2"/></svg>`

/** The favicon, with the number of open approvals. */
export function icon(waiting: string): Html {
  const badge = html`<circle cx="17" cy="7" r="7" fill="#d4351c"/><text x="17" y="10.2" font-family="system-ui,sans-serif" font-size="9" font-weight="700" text-anchor="middle" fill="#fff">${waiting.length > 2 ? '9+' : waiting}</text>`
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g fill="#2457c5"><rect x="3" y="3" width="5" height="18" rx="1.5"/><rect x="16" y="3" width="5" height="18" rx="1.5"/><circle cx="12" cy="12" r="2.2"/></g>${waiting !== '' && badge}</svg>`
}
