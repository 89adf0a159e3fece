import type { Command } from '../core/command.ts'

interface Waiting {
  readonly command: Command
}

interface Limits {
  readonly commands: number
  readonly bytes: number
}

/** Maximum characters of text in a batch. Larger transactions and statements become unwieldy. */
const BATCH_BYTES = 16 * 1024 * 1024

/** The commands that wait for a commit, bounded in number and in size. */
export class Pending<Entry extends Waiting> {
  readonly #limits: Limits
  #entries: Entry[] = []
  #bytes = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  get length(): number {
    return this.#entries.length
  }

  get isFull(): boolean {
    return this.#entries.length >= this.#limits.commands || this.#bytes >= this.#limits.bytes
  }

  add(entry: Entry): void {
    this.#entries.push(entry)
    this.#bytes += sizeOf(entry.command)
  }

  /** The next batch: at least one command, if there is one. */
  take(maxCommands: number): Entry[] {
    let count = 0
    let bytes = 0
    for (const entry of this.#entries) {
      const size = sizeOf(entry.command)
      if (count === maxCommands || (count > 0 && bytes + size > BATCH_BYTES)) break
      bytes += size
      count++
    }
    this.#bytes -= bytes
    return this.#entries.splice(0, count)
  }

  /** Commands that must wait for the next batch are put first. */
  putBack(entries: readonly Entry[]): void {
    this.#entries.unshift(...entries)
    for (const entry of entries) this.#bytes += sizeOf(entry.command)
  }
}

/** The approximate number of characters that the command writes. */
function sizeOf(command: Command): number {
  switch (command.verb) {
    case 'create':
      return command.input.length
    case 'complete':
      return command.result.length + (command.artifacts?.length ?? 0)
    case 'fail':
      return command.error.length
    case 'answer':
      return command.answer.length
    case 'ask':
      return command.question.request.length
    case 'progress':
      return command.progress.length
    case 'record':
      return command.body.length
    default:
      return 0
  }
}
