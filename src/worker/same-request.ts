/**
 * Whether a question asks what was asked before. Where a rule took something out of the recorded request, the gate does not
 * know what stood there, and its `redacted_fields` name the places, which are then not compared.
 */
export function isSameRequest(recorded: unknown, request: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(recorded)) return false
  const { redacted_fields, ...kept } = recorded
  const redacted = new Set(Array.isArray(redacted_fields) ? redacted_fields.map(String) : [])
  // As the server got it: without members that are undefined, and with dates and the like as texts.
  const asked: unknown = JSON.parse(JSON.stringify(request))
  return isEqual(kept, asked, '', redacted)
}

function isEqual(before: unknown, now: unknown, pointer: string, redacted: ReadonlySet<string>): boolean {
  if (redacted.has(pointer)) return true
  if (!isObject(before) || !isObject(now)) return before === now
  if (Array.isArray(before) !== Array.isArray(now)) return false
  const names = Object.keys(before)
  if (names.length !== Object.keys(now).length) return false
  return names.every(
    (name) =>
      Object.hasOwn(now, name) && isEqual(before[name], now[name], `${pointer}/${escaped(name)}`, redacted),
  )
}

/** RFC 6901. */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
