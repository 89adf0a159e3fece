/** The data of each event of a stream, as it arrives. */
export async function* eventData(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let unread = ''
  for await (const chunk of stream) {
    unread += decoder.decode(chunk, { stream: true })
    const events = unread.split(/\r?\n\r?\n/)
    unread = events.pop() ?? ''
    for (const event of events) {
      const data = event.split(/\r?\n/).flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
      if (data.length > 0) yield data.join('\n')
    }
  }
}
