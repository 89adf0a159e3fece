/** ISO 8601 UTC with milliseconds, the form of every time that leaves AsyncGate. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
