import type { Progress } from '@modelcontextprotocol/client'

/** Each report is a commit, so there is a pause between two of them. */
const PAUSE_MS = 250

type Report = Readonly<Record<string, string | number>>

/** Forwards the progress of a call at a bounded rate; only the latest report is kept. */
export class ProgressReports {
  readonly #send: (report: Report) => Promise<unknown>
  #latest: Report | undefined
  #sending: Promise<unknown> | undefined
  #timer: NodeJS.Timeout | undefined
  #ended = false

  /** Rejections of `send` are ignored: a lost lease is detected by its renewal. */
  constructor(send: (report: Report) => Promise<unknown>) {
    this.#send = send
  }

  readonly heard = (progress: Progress): void => {
    this.#latest = reportOf(progress)
    if (this.#sending === undefined && this.#timer === undefined) this.#next()
  }

  /** Sends no more. Resolves when no report is being sent. */
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

/** Text of the upstream is untrusted, which the name of its field says. */
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
