import { hash } from 'node:crypto'

/** The hashes of a region: of everything but its rows, and of each row. They do not change when only time passes. */
export interface RegionVersion {
  /** Identifies the content of the region, rows included. */
  readonly version: string
  readonly frame: string
  readonly rows: ReadonlyMap<string, string>
}

interface Row {
  readonly key: string
  readonly markup: string
}

/** An element with `data-live`. Updates replace it as a whole, or only those of its rows that have changed. */
export interface Region extends RegionVersion {
  readonly name: string
  readonly markup: string
  readonly list: readonly Row[]
}

/** Elements of a page, as `html` has written them: a `<` or `>` that is not part of a tag is always escaped. */
const LIVE = /<(\w+)[^>]*? data-live="([^"]+)"[^>]*>/g
const ROW = /<(\w+)[^>]*? data-row="([^"]+)"[^>]*>/g

export function regionsOf(page: string): Region[] {
  return Array.from(elements(page, LIVE), ({ key, start, end }) => {
    const markup = page.slice(start, end)
    const list: Row[] = []
    let frame = ''
    let position = 0
    for (const row of elements(markup, ROW)) {
      frame += markup.slice(position, row.start)
      list.push({ key: row.key, markup: markup.slice(row.start, row.end) })
      position = row.end
    }
    frame += markup.slice(position)
    const rows = new Map(list.map((row) => [row.key, digest(row.markup)]))
    const frameDigest = digest(frame)
    const version = digest([frameDigest, ...[...rows].flat()].join(' '))
    return { name: key, markup, list, frame: frameDigest, rows, version }
  })
}

interface Element {
  readonly key: string
  readonly start: number
  readonly end: number
}

/** The outermost elements whose start tag matches. */
function* elements(markup: string, startTag: RegExp): Generator<Element> {
  const starts = new RegExp(startTag)
  for (let found = starts.exec(markup); found !== null; found = starts.exec(markup)) {
    const [tag, name = '', key = ''] = found
    const end = endOf(markup, name, found.index + tag.length)
    yield { key, start: found.index, end }
    starts.lastIndex = end
  }
}

function endOf(markup: string, name: string, from: number): number {
  const tags = new RegExp(`<(/?)${name}\\b[^>]*>`, 'g')
  tags.lastIndex = from
  let depth = 1
  for (let tag = tags.exec(markup); tag !== null; tag = tags.exec(markup)) {
    depth += tag[1] === '/' ? -1 : 1
    if (depth === 0) return tags.lastIndex
  }
  return markup.length
}

/** Times are shown relative to now, and the notice of the previous request is shown once. */
function digest(markup: string): string {
  const lasting = markup
    .replace(/(<time [^>]*>)[^<]*/g, '$1')
    .replace(/<div class="notice (?:good|plain)" role="status">.*?<\/div>/gs, '')
  return hash('sha256', lasting, 'base64url').slice(0, 12)
}

/** The versions of the regions of a page, in the form in which a page sends them back. */
export function versionsOf(regions: readonly Region[]): string {
  return regions.map(({ name, version }) => `${name}.${version}`).join('~')
}

export function parseVersions(text: string): ReadonlyMap<string, string> {
  return new Map(
    text
      .slice(0, 4000)
      .split('~')
      .map((part): [string, string] => [part.slice(0, part.indexOf('.')), part.slice(part.indexOf('.') + 1)]),
  )
}

/** What a page has to change: entire regions, or rows of them in a new order. */
export interface RegionChange {
  readonly name: string
  readonly version: string
  readonly html?: string
  /** The keys of all rows in order, and the markup of those that are new or have changed. */
  readonly keys?: readonly string[]
  readonly rows?: Readonly<Record<string, string>>
}

/** The changes for a page that knows only the versions of its regions. */
export function changesSince(known: ReadonlyMap<string, string>, regions: readonly Region[]): RegionChange[] {
  return regions
    .filter(({ name, version }) => known.get(name) !== version)
    .map(({ name, version, markup }) => ({ name, version, html: markup }))
}

/** The changes for a page that shows the regions `before`. */
export function changesBetween(
  before: ReadonlyMap<string, RegionVersion>,
  regions: readonly Region[],
): RegionChange[] {
  return regions.flatMap((region): RegionChange[] => {
    const { name, version, markup, frame, list, rows } = region
    const known = before.get(name)
    if (known?.version === version) return []
    const hasRows = rows.size > 0 && known !== undefined && known.rows.size > 0 && rows.size === list.length
    if (!hasRows || known.frame !== frame) return [{ name, version, html: markup }]
    const changed = list.filter(({ key }) => known.rows.get(key) !== rows.get(key))
    return [
      {
        ...{ name, version, keys: [...rows.keys()] },
        rows: Object.fromEntries(changed.map(({ key, markup: row }) => [key, row])),
      },
    ]
  })
}
