import type { Progress } from '@modelcontextprotocol/client'

/** Each report is a commit; in between the latest one waits. */
const PAUSE_MS = 250

type Report = Readonly<Record<string, string | number>>

/** Hands the progress of a call on, not faster than is of use to anybody. */
export class ProgressReports {
  readonly #send: (report: Report) => Promise<unknown>
  #latest: Report | undefined
  #sending: Promise<unknown> | undefined
  #timer: NodeJS.Timeout | undefined
  #ended = false

  /** What `send` rejects with is of no interest: a task that was lost is noticed elsewhere. */
  constructor(send: (report: Report) => Promise<unknown>) {
    this.#send = send
  }

  readonly heard = (progress: Progress): void => {
    this.#latest = reportOf(progress)
    if (this.#sending === undefined && this.#timer === undefined) this.#next()
  }

  /** No more is sent. Resolves when nothing is on its way. */
  async end(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    await this.#sending
  }

  #next(): void {
    this.#timer = undefined
    const report = this.#latest
    if (report === undefined || this.#ended) return
    this.#latest = undefined
    this.#sending = this.#send(report)
      .catch(() => {})
      .finally(() => {
        this.#sending = undefined
        if (!this.#ended) this.#timer = setTimeout(() => this.#next(), PAUSE_MS)
      })
  }
}

/** In the words of the gate. What the upstream says is data, and marked as such by its name. */
function reportOf({ progress, total, message }: Progress): Report {
  const percent = total !== undefined && total > 0 ? (100 * progress) / total : undefined
  return {
    progress,
    ...(total !== undefined && { total }),
    ...(percent !== undefined &&
      percent >= 0 &&
      percent <= 100 && { percent: Math.round(percent * 10) / 10 }),
    ...(message !== undefined && { upstream_message: message }),
  }
}
