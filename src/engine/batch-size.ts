/** How long a commit may keep the process from anything else. */
const BLOCKED_MS = 8

/** How much of the estimate the last batch replaces. */
const WEIGHT = 0.2

/** Smaller batches are too few to tell how long a command takes. */
const MIN_MEASURED = 32

interface BatchLimits {
  readonly min: number
  readonly max: number
}

/**
 * How many commands a batch takes. Large batches are faster, but some stores block the process while they commit: for
 * those the size follows from how long the commands of the last batches took.
 */
export class BatchSize {
  readonly #limits: BatchLimits
  #msPerCommand: number

  constructor(limits: BatchLimits) {
    this.#limits = limits
    this.#msPerCommand = BLOCKED_MS / limits.min
  }

  get current(): number {
    const { min, max } = this.#limits
    return Math.max(min, Math.min(max, Math.floor(BLOCKED_MS / this.#msPerCommand)))
  }

  measured(commands: number, ms: number): void {
    if (commands >= MIN_MEASURED) this.#msPerCommand += WEIGHT * (ms / commands - this.#msPerCommand)
  }
}
