/** A line of a stream, or both ends of a line that was too long. */
export type Line = { readonly text: string } | { readonly head: string; readonly tail: string }

const END_BYTES = 256
const NEW_LINE = 0x0a

/** Splits a stream into lines and buffers at most `maxBytes` of each. */
export class LineReader {
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #bytes = 0
  /** Set while the rest of a line is discarded. */
  #head: string | undefined
  #tail = Buffer.alloc(0)

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  *push(chunk: Buffer): Generator<Line> {
    let rest = chunk
    for (;;) {
      const end = rest.indexOf(NEW_LINE)
      this.#keep(end < 0 ? rest : rest.subarray(0, end))
      if (end < 0) return
      yield this.#take()
      rest = rest.subarray(end + 1)
    }
  }

  #keep(part: Buffer): void {
    if (this.#head === undefined && this.#bytes + part.length <= this.#maxBytes) {
      this.#chunks.push(part)
      this.#bytes += part.length
      return
    }
    if (this.#head === undefined) {
      const line = Buffer.concat(this.#chunks)
      this.#head = Buffer.concat([line.subarray(0, END_BYTES), part])
        .subarray(0, END_BYTES)
        .toString()
      this.#tail = Buffer.from(line.subarray(-END_BYTES))
      this.#chunks = []
    }
    this.#tail = Buffer.concat([this.#tail, part.subarray(-END_BYTES)]).subarray(-END_BYTES)
  }

  #take(): Line {
    const head = this.#head
    const line =
      head === undefined
        ? { text: Buffer.concat(this.#chunks).toString() }
        : { head, tail: this.#tail.toString() }
    this.#chunks = []
    this.#bytes = 0
    this.#head = undefined
    this.#tail = Buffer.alloc(0)
    return line
  }
}
