export type WebhookOutcome = 'delivered' | 'retried' | 'failed'

/** Counts the attempts to send completion webhooks, for metrics. */
export class WebhookAttempts {
  readonly #listeners = new Set<(outcome: WebhookOutcome) => void>()

  count(outcome: WebhookOutcome): void {
    for (const listener of this.#listeners) listener(outcome)
  }

  /** Returns an unsubscribe function. */
  onAttempt(listener: (outcome: WebhookOutcome) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
