import { invalid } from '../../core/errors.ts'
import type { Json } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'

/** The values of placeholders. Times are milliseconds since the epoch. */
export interface RunTime {
  readonly schedule_id: string
  readonly run_at: number
  readonly now: number
}

const VALUES = new Map<string, (run: RunTime) => string | number>([
  ['schedule_id', (run) => run.schedule_id],
  ['run_at', (run) => isoTime(run.run_at)],
  ['run_at_ms', (run) => run.run_at],
  ['now', (run) => isoTime(run.now)],
  ['now_ms', (run) => run.now],
])

/** `\{{` is a literal `{{`. */
const PLACEHOLDER = /\\\{\{|\{\{\s*([^{}]*?)\s*\}\}/g
const ALONE = /^\{\{\s*([^{}]*?)\s*\}\}$/

/** Fills in the placeholders in all strings of the template, except for member names. */
export function render(template: Json, run: RunTime): Json {
  return mapTexts(template, (text) => {
    const alone = ALONE.exec(text)?.[1]
    if (alone !== undefined) return VALUES.get(alone)?.(run) ?? text
    return text.replace(PLACEHOLDER, (whole, name?: string) =>
      name === undefined ? '{{' : String(VALUES.get(name)?.(run) ?? whole),
    )
  })
}

/** Refuses unknown placeholders. */
export function checkTemplate(template: Json, path: string): void {
  mapTexts(template, (text) => {
    for (const [, name] of text.matchAll(PLACEHOLDER)) {
      if (name === undefined || VALUES.has(name)) continue
      const known = [...VALUES.keys()].join(', ')
      throw invalid(path, `{{${name}}} is not one of ${known}; write \\{{ for a literal {{`)
    }
    return text
  })
}

function mapTexts(value: Json, map: (text: string) => Json): Json {
  if (typeof value === 'string') return map(value)
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map((item) => mapTexts(item, map))
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapTexts(member, map)]))
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value)
}
