/** The maximum that is accepted. */
const MAX_SECONDS = 3_600

/** The Retry-After header in seconds; undefined if it is absent or not valid. A date is relative to the clock of the server. */
export function retryAfterSeconds(header: string | undefined, date: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d{1,10}$/.test(text)) return limited(Number(text))
  // A date starts with the day of the week; Date.parse accepts almost anything.
  if (!/^[A-Za-z]{3}/.test(text)) return undefined
  return limited((Date.parse(text) - (date === undefined ? Date.now() : Date.parse(date))) / 1000)
}

function limited(seconds: number): number | undefined {
  return Number.isFinite(seconds) ? Math.min(Math.max(0, Math.ceil(seconds)), MAX_SECONDS) : undefined
}
