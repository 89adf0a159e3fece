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

  /** The tenants of the commands, in ascending order. */
  tenants(): number[] {
    const tenants = new Set<number>()
    for (const { command } of this.#entries) tenants.add(command.tenant)
    return [...tenants].sort((a, b) => a - b)
  }

  /** The next batch: at least one command, if there is one. It ends before a command of another tenant than `tenants`. */
  take(maxCommands: number, tenants?: readonly number[]): Entry[] {
    let count = 0
    let bytes = 0
    for (const { command } of this.#entries) {
      const size = sizeOf(command)
      if (count === maxCommands || (count > 0 && bytes + size > BATCH_BYTES)) break
      if (tenants !== undefined && !tenants.includes(command.tenant)) break
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
    case 'reconcile':
      return command.outcome.kind === 'failed' ? command.outcome.error.length : command.outcome.result.length
    case 'answer':
      return command.answer.length
    case 'ask':
      return command.question.request.length
    case 'progress':
      return command.progress.length
    case 'restore':
      return command.receipt.body.length + (command.contents.task?.input.length ?? 0)
    case 'record':
      return command.body.length
    default:
      return 0
  }
}
