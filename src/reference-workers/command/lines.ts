import { StringDecoder } from 'node:string_decoder'

/** Longer lines are split; the log of a task takes 8,192 characters per line. */
const MAX_LINE = 8_000

/** The log of a task has no room for more. */
const MAX_CHARACTERS = 1024 * 1024

/** Passes the stream on unchanged, and each of its lines to `write`. Empty lines are omitted. */
export async function* withLines(
  stream: AsyncIterable<Buffer>,
  write: (line: string) => void,
): AsyncGenerator<Buffer> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let left = MAX_CHARACTERS
  const add = (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    // Not buffered without a limit if the program writes no line break.
    while (rest.length > MAX_LINE) {
      lines.push(rest.slice(0, MAX_LINE))
      rest = rest.slice(MAX_LINE)
    }
    for (const line of lines) log(line.endsWith('\r') ? line.slice(0, -1) : line)
  }
  const log = (line: string) => {
    for (let from = 0; from < line.length && left > 0; from += MAX_LINE) {
      const part = line.slice(from, from + MAX_LINE)
      left -= part.length
      write(part)
    }
  }
  for await (const chunk of stream) {
    if (left > 0) add(decoder.write(chunk))
    yield chunk
  }
  if (left > 0) {
    add(decoder.end())
    log(rest)
  }
}
