/** ISO 8601 UTC with milliseconds, the public form of every time. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}
