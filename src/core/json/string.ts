/** Behind the closing quote of the string whose opening quote stands at `start`; 0 if there is none. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end + 1
}

/** Whether an odd number of backslashes stands before the character. */
function isEscaped(text: string, at: number): boolean {
  let i = at
  while (text.charCodeAt(i - 1) === 0x5c /* \ */) i--
  return (at - i) % 2 === 1
}

export function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** Errors quote what they complain about, but not megabytes of it. */
export function shorten(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text
}
