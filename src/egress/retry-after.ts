/** Longer than this nobody waits because a server says so. */
const MAX_SECONDS = 3_600

/**
 * The seconds that a server asks to wait: a number, or a date, which is measured against the server's own clock.
 * Undefined if it does not say, or not so that it can be understood.
 */
export function retryAfterSeconds(header: string | undefined, date: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d{1,10}$/.test(text)) return limited(Number(text))
  // A date begins with the day of the week; Date.parse would find one in almost anything.
  if (!/^[A-Za-z]{3}/.test(text)) return undefined
  return limited((Date.parse(text) - (date === undefined ? Date.now() : Date.parse(date))) / 1000)
}

function limited(seconds: number): number | undefined {
  return Number.isFinite(seconds) ? Math.min(Math.max(0, Math.ceil(seconds)), MAX_SECONDS) : undefined
}
