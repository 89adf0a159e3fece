import { Transform, type TransformCallback } from 'node:stream'
import { Fault } from '../../core/errors.ts'
import { isToolCall, readLine } from './message.ts'
import { type RequestId, refusal, refusalBody, requestIdOf } from './wire.ts'

/** Longer lines are forwarded in pieces; the reader rejects them. */
const MAX_LINE_BYTES = 8 * 1024 * 1024

const NEWLINE = 0x0a
const SPACE = 0x20

/**
 * Checks the lines of a client against the rules for JSON. A tool call is forwarded, and the tool reports the
 * violation; any other invalid message is answered here.
 */
export class CheckedLines extends Transform {
  readonly #flaws = new Map<RequestId, Fault>()
  /** The line numbers of calls, if lines are numbered. */
  readonly #numbers = new Map<RequestId, string>()
  readonly #isNumbered: boolean
  readonly #answer: (message: object) => void
  #parts: Buffer[] = []
  #length = 0

  /** Numbered lines start with digits and a space, which are removed. */
  constructor(answer: (message: object) => void, isNumbered = false) {
    super()
    this.#answer = answer
    this.#isNumbered = isNumbered
  }

  /** The number of the line that contained the call. Can be read once. */
  numberOf(id: RequestId): string | undefined {
    const number = this.#numbers.get(id)
    this.#numbers.delete(id)
    return number
  }

  /** The violation in the call with this id. Can be read once. */
  flawOf(id: RequestId): Fault | undefined {
    const flaw = this.#flaws.get(id)
    this.#flaws.delete(id)
    return flaw
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      this.#parts.push(rest.subarray(0, end + 1))
      this.#endLine()
      rest = rest.subarray(end + 1)
    }
    if (rest.length > 0) {
      this.#parts.push(rest)
      this.#length += rest.length
      if (this.#length > MAX_LINE_BYTES) this.push(this.#taken())
    }
    done()
  }

  override _flush(done: TransformCallback): void {
    if (this.#parts.length > 0) this.push(this.#taken())
    done()
  }

  #endLine(): void {
    const whole = this.#taken()
    const digits = this.#isNumbered ? whole.indexOf(SPACE) : -1
    const line = whole.subarray(digits + 1)
    try {
      const message = readLine(line.toString('utf8'))
      const id = digits > 0 && isToolCall(message?.body) ? requestIdOf(message?.body) : null
      if (id !== null) this.#numbers.set(id, whole.toString('latin1', 0, digits))
      // Text that is not JSON has no id for a response.
      if (message?.flaw === undefined) {
        this.push(line)
        return
      }
      this.#refuse(message.body, message.flaw)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#answerFault(null, error)
    }
  }

  #refuse(body: unknown, flaw: Fault): void {
    const id = requestIdOf(body)
    if (id === null) return
    if (!isToolCall(body)) {
      this.#answerFault(id, flaw)
      return
    }
    this.#flaws.set(id, flaw)
    this.push(Buffer.from(`${JSON.stringify(body)}\n`))
  }

  #answerFault(id: RequestId | null, fault: Fault): void {
    this.#answer(refusalBody(refusal(fault), id))
  }

  #taken(): Buffer {
    const line = Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    return line
  }
}
