/** The RFC 8785 text of a value as JSON would carry it: members in the order of their UTF-16 units, no spaces. */
export function canonicalJson(value: unknown): string {
  return write(JSON.parse(JSON.stringify(value) ?? 'null'))
}

function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`
}
