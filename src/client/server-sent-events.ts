export interface ServerEvent<Data = unknown> {
  readonly event: string
  readonly data: Data
  readonly id?: string
}

/** The events of a stream. `onBytes` is called for all received data, comments included. */
export async function* readEvents<Data>(
  stream: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<ServerEvent<Data>, void, void> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let unread = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      unread += decoder.decode(value, { stream: true })
      const blocks = unread.split(/\r?\n\r?\n/)
      unread = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = eventOf<Data>(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    // Canceling a failed stream rejects; it holds no resources any more.
    reader.cancel().catch(() => {})
  }
}

/** A block without data is a comment. */
function eventOf<Data>(block: string): ServerEvent<Data> | undefined {
  let event = 'message'
  let id: string | undefined
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
    if (name === 'event') event = value
    else if (name === 'id') id = value
    else if (name === 'data') data.push(value)
  }
  if (data.length === 0) return undefined
  const value: Data = JSON.parse(data.join('\n'))
  return id === undefined ? { event, data: value } : { event, data: value, id }
}
