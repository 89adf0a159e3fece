// Pages work without this script. It updates them, and adds keyboard shortcuts and the palette.

const body = document.body

// A refused form is shown at a path that accepts only POST. The address bar gets the path of the page instead.
if (body.dataset.address) history.replaceState(null, '', body.dataset.address)

// Updates: the server sends the regions of the page that have changed, or only some of their rows.

/** The versions of the regions that the page shows. */
const versions = new Map()
/** Regions with an update that was not shown. They are requested again when they are no longer in use. */
const stale = new Set()
let source
let retry
let failures = 0

function eventsAddress() {
  const url = new URL(body.dataset.events, location.href)
  if (versions.size === 0) {
    for (const part of url.searchParams.get('have').split('~')) {
      const dot = part.indexOf('.')
      versions.set(part.slice(0, dot), part.slice(dot + 1))
    }
  }
  const shown = [...versions].filter(([name]) => !stale.has(name)).map((pair) => pair.join('.'))
  url.searchParams.set('have', shown.join('~'))
  return url.href
}

function listen() {
  source?.close()
  clearTimeout(retry)
  if (document.hidden || !body.dataset.events) return
  source = new EventSource(eventsAddress())
  source.addEventListener('open', () => {
    failures = 0
    document.querySelector('.offline')?.remove()
  })
  source.addEventListener('patch', (event) => apply(JSON.parse(event.data)))
  source.addEventListener('gone', () => {
    source.close()
    offer('This page has changed. Reload')
  })
  source.addEventListener('error', () => {
    source.close()
    failures += 1
    if (failures > 1) sayOffline()
    retry = setTimeout(listen, Math.min(30_000, 500 * 2 ** failures))
  })
}

function apply({ title, icon, changes }) {
  document.title = title
  const link = document.querySelector('link[rel=icon]')
  if (link.getAttribute('href') !== icon) link.setAttribute('href', icon)
  for (const change of changes) {
    const region = document.querySelector(`[data-live="${change.name}"]`)
    if (region === null) continue
    if (!isInUse(region, change) && update(region, change)) {
      versions.set(change.name, change.version)
      stale.delete(change.name)
    } else {
      stale.add(change.name)
    }
  }
  if (stale.size > 0) offer('Changed. Show')
  else document.querySelector('.changed')?.remove()
  select(selected)
  afterUpdate()
}

/** Whether the change was made. Rows that the server believes to be here may be missing after a deferred change. */
function update(region, { html, keys, rows }) {
  if (html !== undefined) {
    morph(region, parse(html))
    return true
  }
  const before = new Map([...region.querySelectorAll('[data-row]')].map((row) => [row.dataset.row, row]))
  const list = region.querySelector('[data-row]')?.parentElement
  if (!list || keys.some((key) => !before.has(key) && rows[key] === undefined)) return false
  for (const [key, row] of before) if (!keys.includes(key)) row.remove()
  let previous = null
  for (const key of keys) {
    let row = before.get(key)
    if (row === undefined) row = parse(rows[key])
    else if (rows[key] !== undefined) morph(row, parse(rows[key]))
    const at = previous === null ? list.firstElementChild : previous.nextElementSibling
    if (at !== row) list.insertBefore(row, at)
    if (rows[key] !== undefined) row.classList.add('updated')
    previous = row
  }
  return true
}

function parse(markup) {
  const template = document.createElement('template')
  template.innerHTML = markup
  return template.content.firstElementChild
}

/** Changes an element into another one. Elements that stay keep their focus, content and open state. */
function morph(from, to) {
  if (from.nodeName !== to.nodeName) return from.replaceWith(to)
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !(name === 'open' && from.nodeName === 'DETAILS'))
      from.removeAttribute(name)
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value)
  }
  const [old, fresh] = [[...from.childNodes], [...to.childNodes]]
  for (const [i, node] of fresh.entries()) {
    const before = old[i]
    if (before === undefined) from.append(node)
    else if (before.nodeType !== node.nodeType) before.replaceWith(node)
    else if (node.nodeType === Node.ELEMENT_NODE) morph(before, node)
    else if (before.data !== node.data) before.data = node.data
  }
  for (const node of old.slice(fresh.length)) node.remove()
}

/** A region in use is not changed: nothing moves under the pointer, and no input is lost. */
function isInUse(region, { keys }) {
  const shown = [...region.querySelectorAll('[data-row]')].map((row) => row.dataset.row)
  const isStable =
    keys !== undefined && shown.length === keys.length && shown.every((key, i) => key === keys[i])
  if (matchMedia('(hover: hover)').matches && region.matches('[data-live="list"]:hover') && !isStable)
    return true
  const { activeElement } = document
  if (activeElement !== body && region !== activeElement && region.contains(activeElement)) return true
  if (region.querySelector('details[open] form, [role=alert]')) return true
  for (const field of region.querySelectorAll('input, textarea')) {
    if (field.type === 'checkbox' || field.type === 'radio') {
      if (field.checked !== field.defaultChecked && !isStable) return true
    } else if (field.value !== field.defaultValue) {
      return true
    }
  }
  return false
}

/** The address without the parameters of the notice, which is shown once. */
function addressWithoutNotice() {
  const url = new URL(location.href)
  for (const name of ['notice', 'done', 'kept']) url.searchParams.delete(name)
  return url.href
}

/** Offers a link to an update that was deferred. */
function offer(text) {
  if (document.querySelector('.changed')) return
  const link = document.createElement('a')
  link.className = 'button primary changed'
  link.href = addressWithoutNotice()
  link.textContent = text
  body.append(link)
}

function sayOffline() {
  if (document.querySelector('.offline')) return
  const notice = document.createElement('p')
  notice.className = 'offline'
  notice.role = 'status'
  notice.textContent = 'The connection is lost. This page is not up to date.'
  body.append(notice)
}

// A deferred update is requested again when the region is no longer in use.
let released
for (const type of ['pointerout', 'focusout']) {
  document.addEventListener(type, () => {
    if (stale.size === 0) return
    clearTimeout(released)
    released = setTimeout(listen, 300)
  })
}

document.addEventListener('visibilitychange', listen)
addEventListener('pagehide', () => source?.close())
addEventListener('pageshow', listen)

setInterval(() => {
  for (const time of document.querySelectorAll('time')) time.textContent = words(time)
}, 5000)

function words(time) {
  const ms = Date.parse(time.dateTime) - Date.now()
  const seconds = Math.floor(Math.abs(ms) / 1000)
  const [size, unit] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ].find(([step]) => seconds >= step) ?? [1, 's']
  const length = `${Math.floor(seconds / size)} ${unit}`
  if ('elapsed' in time.dataset) return length
  return ms > 0 ? `in ${length}` : seconds < 1 ? 'now' : `${length} ago`
}

// Keyboard shortcuts.

let selected = -1
let isGoing = false

function rows() {
  return [...document.querySelectorAll('main .row')]
}

function select(at) {
  const all = rows()
  selected = Math.max(-1, Math.min(at, all.length - 1))
  for (const [i, row] of all.entries()) row.classList.toggle('selected', i === selected)
}

function move(by) {
  select(Math.max(0, selected + by))
  const row = rows()[selected]
  ;(row?.querySelector('a.row-main') ?? row?.querySelector('a'))?.focus()
}

/** Moves to a button: that of the selected row, or that of the page. The buttons of a selection select the row first. */
function goTo(key) {
  const target =
    rows()[selected]?.querySelector(`[data-key="${key}"]`) ?? document.querySelector(`[data-key="${key}"]`)
  if (target === null) return
  const bar = target.closest('.bar')
  if (bar !== null && bar.parentElement.querySelector(':checked') === null) {
    rows()[selected]?.querySelector('input[type=checkbox]:enabled')?.click()
  }
  target.closest('details')?.setAttribute('open', '')
  target.focus()
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  a: () => goTo('a'),
  d: () => goTo('d'),
  c: () => goTo('c'),
  r: () => goTo('r'),
  x: () => rows()[selected]?.querySelector('input[type=checkbox]:enabled')?.click(),
  g: () => {
    isGoing = true
    setTimeout(() => {
      isGoing = false
    }, 1500)
  },
  '/': () => document.querySelector('[role=search] input, [role=search] select')?.focus(),
  '?': () => document.querySelector('#keys')?.showModal(),
}

document.addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === 'k' && palette !== null) {
    event.preventDefault()
    return openPalette()
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  if (event.target.closest('input, textarea, select, dialog')) {
    if (event.key === 'Escape') event.target.blur()
    return
  }
  if (isGoing) {
    isGoing = false
    const page = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`)
    if (page === null) return
    event.preventDefault()
    location.href = page.href
    return
  }
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined
  if (act === undefined) return
  event.preventDefault()
  act()
})

// The palette: pages by name, tasks by id. Without script, its link leads to a page that does the same.

const palette = document.querySelector('#palette')
let option = 0

function openPalette() {
  const field = palette.querySelector('input')
  field.value = ''
  fill()
  palette.showModal()
  field.focus()
}

function fill() {
  const field = palette.querySelector('input')
  const q = field.value.trim()
  const pages = [...document.querySelectorAll('[data-go]')]
    .map((link) => ({ href: link.href, text: link.lastChild.data ?? link.textContent, key: link.dataset.go }))
    .map((entry) => ({ ...entry, text: entry.text.trim() }))
    .filter(({ text }) => text.toLowerCase().includes(q.toLowerCase()))
  const find =
    q === '' ? [] : [{ href: `/console/find?q=${encodeURIComponent(q)}`, text: `Open the task ${q}` }]
  const list = palette.querySelector('ul')
  list.replaceChildren(
    ...[...pages, ...find].map(({ href, text, key }, i) => {
      const item = document.createElement('li')
      item.id = `option-${i}`
      item.role = 'option'
      item.dataset.href = href
      item.textContent = text
      if (key) {
        const hint = document.createElement('kbd')
        hint.textContent = `g ${key}`
        item.append(hint)
      }
      return item
    }),
  )
  choose(0)
}

function choose(at) {
  const items = [...palette.querySelectorAll('li')]
  option = Math.max(0, Math.min(at, items.length - 1))
  for (const [i, item] of items.entries()) item.setAttribute('aria-selected', String(i === option))
  items[option]?.scrollIntoView({ block: 'nearest' })
  palette.querySelector('input').setAttribute('aria-activedescendant', items[option]?.id ?? '')
}

if (palette !== null) {
  palette.addEventListener('input', fill)
  palette.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(option + 1)
    else if (event.key === 'ArrowUp') choose(option - 1)
    else return
    event.preventDefault()
  })
  palette.querySelector('form').addEventListener('submit', (event) => {
    const chosen = palette.querySelectorAll('li')[option]
    if (chosen === undefined) return
    event.preventDefault()
    location.href = chosen.dataset.href
  })
  palette.addEventListener('click', (event) => {
    if (event.target === palette) palette.close()
    const item = event.target.closest('li')
    if (item !== null) location.href = item.dataset.href
  })
  document.querySelector('[data-find]')?.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    openPalette()
  })
}

// Copy buttons. The clipboard of browsers needs HTTPS; selecting the text of a field works everywhere.

function copy(text) {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'quiet'
  body.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  return isCopied ? Promise.resolve() : Promise.reject(new Error('The browser refused to copy.'))
}

document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy], [data-copy-from]')
  if (button === null) return
  const text = button.textContent
  try {
    await copy(button.dataset.copy ?? document.querySelector(button.dataset.copyFrom).textContent)
    button.classList.add('copied')
    if (text !== '') button.textContent = 'Copied'
  } catch {
    if (text !== '') button.textContent = 'Not copied'
  }
  setTimeout(() => {
    button.classList.remove('copied')
    if (text !== '') button.textContent = text
  }, 1500)
})

// The number of selected tasks. A form is sent only once.

function afterUpdate() {
  const count = document.querySelectorAll('main input[type=checkbox][name]:checked').length
  for (const element of document.querySelectorAll('[data-selected]')) {
    element.textContent = count === 0 ? '' : `${count} selected`
  }
  for (const button of document.querySelectorAll('[data-copy], [data-copy-from]')) button.hidden = false
}

document.addEventListener('change', (event) => {
  afterUpdate()
  if (event.target.name === 'task_id') keepSelection()
})

/** The address contains the selected tasks, so that they are still selected after a reload. */
function keepSelection() {
  const url = new URL(location.href)
  const ids = [...document.querySelectorAll('input[name=task_id]:checked')].map((box) => box.value)
  if (ids.length === 0) url.searchParams.delete('sel')
  else url.searchParams.set('sel', ids.join('.'))
  history.replaceState(null, '', url.href)
}

// Completes the last term of a search. Browsers compare an option with everything that was typed.
document.querySelector('[data-complete]')?.addEventListener('input', ({ target }) => {
  const typed = target.value.slice(0, target.value.lastIndexOf(' ') + 1)
  for (const option of target.list.options) {
    option.dataset.term ??= option.value
    option.value = typed + option.dataset.term
  }
})
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
afterUpdate()
