import { type Content, type Html, html } from '../util/html.ts'
import { visibleLine } from '../util/untrusted-text.ts'
import { line } from './components.ts'
import { groupsOf, pathOf, SECTIONS, type Section } from './navigation.ts'
import type { Assets } from './send.ts'
import type { Page } from './visit.ts'

/** A page with what the console adds to it. */
type Shown = Page & {
  /** The address of its event stream; undefined if the page is not live. */
  readonly events?: string | undefined
  /** The path of this page, if it is not that of the request. */
  readonly address?: string | undefined
}

export interface Frame {
  readonly assets: Assets
  /** The person who is signed in; undefined on public pages. */
  readonly person?: {
    readonly name: string
    readonly role: string
    readonly token: string
    readonly canSignOut: boolean
    /** Whether the person may read the list of a section. */
    reads(section: Section): boolean
  }
  /** Number of open approvals, such as `3` or `99+`; empty if there are none or the number is unknown. */
  readonly waiting?: string
}

/** The complete document of a page. */
export function layout(page: Shown, { assets, person, waiting = '' }: Frame): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${page.next !== undefined && html`<meta http-equiv="refresh" content="0; url=${page.next}">`}
<title>${titleOf(page, waiting)}</title>
<link rel="stylesheet" href="${assets.css.path}">
<link rel="icon" type="image/svg+xml" href="${iconPath(waiting)}">
<script src="${assets.js.path}" defer></script>
</head>
<body${[
    person === undefined && html` class="public"`,
    page.events !== undefined && html` data-events="${page.events}"`,
    page.address !== undefined && html` data-address="${page.address}"`,
  ]}>
<a class="skip" href="#main">Skip to content</a>
<header class="top">
${person && html`<button class="menu" popovertarget="navigation" aria-label="Menu">${MENU_ICON}</button>`}
<a class="brand" href="/console">${LOGO}<span>AsyncGate</span></a>
${person && html`<a class="find" href="/console/find" data-find>${FIND_ICON}<span>Find a page or task</span><kbd>Ctrl K</kbd></a>`}
${person && personBox(person)}
</header>
${person && navigation(page.section, waiting, person.reads)}
<main id="main" tabindex="-1">
${page.body}
</main>
${person && [PALETTE, KEYS]}
</body>
</html>
`
}

export function titleOf({ title }: Pick<Page, 'title'>, waiting: string): string {
  return `${waiting && `(${waiting}) `}${visibleLine(title, 80)} · AsyncGate`
}

export function iconPath(waiting: string): string {
  return `/console/icon.svg${waiting && `?n=${waiting}`}`
}

/** A side bar; on a phone a popover, which opens without script. */
function navigation(
  current: Section | undefined,
  waiting: string,
  reads: (section: Section) => boolean,
): Html {
  return html`<nav id="navigation" class="side" aria-label="Console" popover>${groupsOf(reads).map(
    ({ label, sections }) =>
      html`<h2 class="side-group">${label}</h2><ul>${sections.map((section) => {
        const entry = SECTIONS[section]
        return html`<li><a href="${pathOf(section)}" data-go="${entry.key}"${section === current && html` aria-current="page"`}>${icon16(entry.icon)}${entry.label}${section === 'approvals' && badge(waiting)}</a></li>`
      })}</ul>`,
  )}</nav>`
}

/** The number of open approvals, which updates on every page. */
export function badge(waiting: string): Html {
  return html`<span data-live="waiting">${waiting && html`<span class="badge"><span class="quiet">waiting: </span>${waiting}</span>`}</span>`
}

function icon16(shapes: Content): Html {
  return html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">${shapes}</svg>`
}

function personBox({ name, role, token, canSignOut }: NonNullable<Frame['person']>): Html {
  return html`<div class="person"><span class="quiet">Signed in as </span><span class="person-name">${line(name, 40)}</span><span class="chip">${role}</span>${
    canSignOut &&
    html`<form method="post" action="/console/logout"><input type="hidden" name="token" value="${token}"><button class="link">Sign out</button></form>`
  }</div>`
}

/** Filled in by the script, from the navigation. */
const PALETTE = html`<dialog id="palette" aria-label="Find a page or task">
<form method="get" action="/console/find"><label class="quiet" for="palette-q">Find a page or task</label>
<input id="palette-q" name="q" placeholder="Page, task id or search" autocomplete="off" spellcheck="false" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list">
<ul id="palette-list" role="listbox" aria-label="Results"></ul></form>
</dialog>`

/** The list of keyboard shortcuts. */
const KEYS = html`<dialog id="keys" aria-labelledby="keys-title">
<h2 id="keys-title">Keys</h2>
<dl class="keys">
<dt><kbd>Ctrl K</kbd></dt><dd>find a page or task</dd>
<dt><kbd>/</kbd></dt><dd>search or filter this list</dd>
<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous</dd>
<dt><kbd>Enter</kbd></dt><dd>open</dd>
<dt><kbd>x</kbd></dt><dd>select</dd>
<dt><kbd>a</kbd></dt><dd>approve</dd>
<dt><kbd>d</kbd></dt><dd>deny</dd>
<dt><kbd>c</kbd></dt><dd>cancel</dd>
<dt><kbd>r</kbd></dt><dd>retry</dd>
<dt><kbd>g</kbd> then a letter</dt><dd>go to a page; <kbd>Ctrl K</kbd> shows the letters</dd>
<dt><kbd>?</kbd></dt><dd>this list</dd>
</dl>
<p class="soft">Approve, deny, cancel and retry move to the button; <kbd>Enter</kbd> presses it.</p>
<form method="dialog"><button class="button">Close</button></form>
</dialog>`

const LOGO = html`<svg class="logo" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><rect x="3" y="3" width="5" height="18" rx="1.5"/><rect x="16" y="3" width="5" height="18" rx="1.5"/><circle cx="12" cy="12" r="2.2"/></svg>`
const MENU_ICON = icon16(html`<path d="M2 4h12M2 8h12M2 12h12"/>`)
const FIND_ICON = icon16(html`<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3 3"/>`)

/** The favicon, with the number of open approvals. */
export function icon(waiting: string): Html {
  const badge = html`<circle cx="17" cy="7" r="7" fill="#d4351c"/><text x="17" y="10.2" font-family="system-ui,sans-serif" font-size="9" font-weight="700" text-anchor="middle" fill="#fff">${waiting.length > 2 ? '9+' : waiting}</text>`
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g fill="#2457c5"><rect x="3" y="3" width="5" height="18" rx="1.5"/><rect x="16" y="3" width="5" height="18" rx="1.5"/><circle cx="12" cy="12" r="2.2"/></g>${waiting !== '' && badge}</svg>`
}
