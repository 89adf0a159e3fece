// Pages work without this script. It updates them and adds keyboard shortcuts.

const body = document.body
const PACE_MS = 1500

// A refused form is shown at a path that accepts only POST. The address bar gets the path of the page instead.
if (body.dataset.address) history.replaceState(null, '', body.dataset.address)

// Updates: a page names the tasks that it follows, and is loaded again when they change.

let source
let last = 0
let due
let poll
let isDeferred = false

function schedule() {
  if (due !== undefined || document.hidden) return
  due = setTimeout(() => void refresh(), Math.max(0, last + PACE_MS - Date.now()))
}

async function refresh() {
  due = undefined
  last = Date.now()
  let fresh
  try {
    const response = await fetch(addressWithVersion(), { headers: { accept: 'text/html' } })
    if (response.redirected || !response.ok) return
    fresh = new DOMParser().parseFromString(await response.text(), 'text/html')
  } catch {
    return
  }
  document.title = fresh.title
  const icon = document.querySelector('link[rel=icon]')
  const newIcon = fresh.querySelector('link[rel=icon]')
  if (icon && newIcon && icon.href !== newIcon.href) icon.replaceWith(document.importNode(newIcon))
  isDeferred = false
  for (const region of document.querySelectorAll('[data-live]')) {
    const found = fresh.querySelector(`[data-live="${region.dataset.live}"]`)
    if (found === null || same(region, found)) continue
    if (isInUse(region)) isDeferred = true
    else region.replaceWith(document.importNode(found, true))
  }
  offerUpdate()
  select(selected)
  countSelected()
}

/** The address without the parameters of the notice, which is shown once. */
function addressWithoutNotice() {
  const url = new URL(location.href)
  for (const name of ['notice', 'done', 'kept']) url.searchParams.delete(name)
  return url.href
}

/** The address with the version of the payload, which the response omits if it has not changed. */
function addressWithVersion() {
  const url = new URL(addressWithoutNotice())
  const version = document.querySelector('[data-version]')?.dataset.version
  if (version !== undefined) url.searchParams.set('have', version)
  return url.href
}

/** Whether two regions are equal except for relative times and the state of the page. */
function same(one, other) {
  return plain(one) === plain(other)
}

function plain(region) {
  const copy = region.cloneNode(true)
  for (const time of copy.querySelectorAll('time')) time.textContent = ''
  for (const row of copy.querySelectorAll('.selected')) row.classList.remove('selected')
  for (const each of copy.querySelectorAll('[class=""]')) each.removeAttribute('class')
  for (const details of copy.querySelectorAll('details')) details.removeAttribute('open')
  for (const notice of copy.querySelectorAll('.notice[role=status]')) notice.remove()
  return copy.innerHTML
}

/** A region in use is not replaced: nothing moves under the pointer, and no input is lost. */
function isInUse(region) {
  if (region.contains(document.activeElement) && document.activeElement !== body) return true
  if (matchMedia('(hover: hover)').matches && region.dataset.live === 'list' && region.matches(':hover'))
    return true
  if (region.querySelector('details[open], [role=alert]')) return true
  for (const field of region.querySelectorAll('input, textarea, select')) {
    if (field.type === 'checkbox' || field.type === 'radio') {
      if (field.checked !== field.defaultChecked) return true
    } else if (
      field.value !== undefined &&
      field.defaultValue !== undefined &&
      field.value !== field.defaultValue
    ) {
      return true
    }
  }
  return false
}

/** Offers a link to an update that was deferred. */
function offerUpdate() {
  const before = document.querySelector('.changed')
  if (!isDeferred) return before?.remove()
  if (before) return
  const link = document.createElement('a')
  link.className = 'button primary changed'
  link.href = addressWithoutNotice()
  link.textContent = 'Changed. Show'
  body.append(link)
}

// A deferred update is applied when the region is no longer in use.
for (const type of ['pointerout', 'focusout']) {
  document.addEventListener(type, () => {
    if (isDeferred && document.querySelector('[data-live="list"]:hover') === null) schedule()
  })
}

function listen() {
  source?.close()
  clearInterval(poll)
  if (document.hidden) return
  if (body.dataset.events) {
    source = new EventSource(body.dataset.events)
    source.addEventListener('changed', schedule)
    // Changes may have been missed while there was no connection.
    source.addEventListener('open', schedule)
  }
  if (body.dataset.poll) poll = setInterval(schedule, Number(body.dataset.poll) * 1000)
}

document.addEventListener('visibilitychange', () => {
  listen()
  if (!document.hidden) schedule()
})
addEventListener('pagehide', () => source?.close())
addEventListener('pageshow', listen)

setInterval(() => {
  for (const time of document.querySelectorAll('time')) time.textContent = words(time.dateTime)
}, 10_000)

function words(iso) {
  const ms = Date.parse(iso) - Date.now()
  const seconds = Math.floor(Math.abs(ms) / 1000)
  const [size, unit] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ].find(([step]) => seconds >= step) ?? [1, 's']
  const length = `${Math.floor(seconds / size)} ${unit}`
  return ms > 0 ? `in ${length}` : seconds < 1 ? 'now' : `${length} ago`
}

// Keyboard shortcuts.

let selected = -1

function rows() {
  return [...document.querySelectorAll('.rows .row')]
}

function select(at) {
  const all = rows()
  selected = Math.max(-1, Math.min(at, all.length - 1))
  for (const [i, row] of all.entries()) row.classList.toggle('selected', i === selected)
}

function move(by) {
  select(Math.max(0, selected + by))
  rows()[selected]?.querySelector('a.row-main')?.focus()
}

function goTo(key) {
  const target = document.querySelector(`[data-key="${key}"]`)
  if (target === null) return false
  target.closest('details')?.setAttribute('open', '')
  target.focus()
  return true
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  a: () => goTo('a'),
  d: () => goTo('d'),
  c: () => goTo('c'),
  x: () => rows()[selected]?.querySelector('input[type=checkbox]:enabled')?.click(),
  '/': () => document.querySelector('[role=search] input, [role=search] select')?.focus(),
  '?': () => document.querySelector('#keys')?.showModal(),
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  if (event.target.closest('input, textarea, select, dialog')) {
    if (event.key === 'Escape') event.target.blur()
    return
  }
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined
  if (act === undefined) return
  event.preventDefault()
  act()
})

// The number of selected tasks. A form is sent only once.

function countSelected() {
  const count = document.querySelectorAll('input[name=task_id]:checked').length
  for (const element of document.querySelectorAll('[data-selected]')) {
    element.textContent = count === 0 ? '' : `${count} selected`
  }
}

document.addEventListener('change', countSelected)
document.addEventListener('submit', (event) => {
  const button = event.submitter
  if (button === null || event.target.method !== 'post') return
  setTimeout(() => {
    button.disabled = true
  })
})
addEventListener('pageshow', () => {
  for (const button of document.querySelectorAll('button:disabled')) button.disabled = false
})

// A notice is not shown again when the page is reloaded.
if (location.search.includes('notice=')) history.replaceState(null, '', addressWithoutNotice())

listen()
