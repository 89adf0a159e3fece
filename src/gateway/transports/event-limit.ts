const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Hands on a stream of server-sent events as long as no single event has more than `maxBytes`. One that has more is cut
 * off there; `instead` follows as an event of its own, and the stream ends.
 */
export async function* limitEvents(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  instead: string | undefined,
): AsyncGenerator<Uint8Array> {
  let event = 0
  let line = 0
  let isAfterReturn = false
  for await (const chunk of body) {
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]
      const isSecondHalf = isAfterReturn && byte === LINE_FEED
      isAfterReturn = byte === CARRIAGE_RETURN
      event += 1
      if (isSecondHalf) continue
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) line += 1
      // An empty line ends an event.
      else if (line === 0) event = 0
      else line = 0
      if (event > maxBytes) {
        yield chunk.subarray(0, i)
        if (instead !== undefined) yield Buffer.from(`\n\ndata: ${instead}\n\n`)
        return
      }
    }
    yield chunk
  }
}
