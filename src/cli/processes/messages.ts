import type { MetricValues } from '../../http/metrics.ts'

/** What a server process sends to the process that started it. */
export type FromServer =
  | { readonly kind: 'listening'; readonly url: string }
  /** Asks for the metrics of all server processes. */
  | { readonly kind: 'scrape'; readonly id: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly values: MetricValues }

export type ToServer =
  /** Finish the running requests, then exit. */
  | { readonly kind: 'stop' }
  /** Send your metrics. */
  | { readonly kind: 'collect'; readonly id: number }
  /** The response to a scrape. */
  | { readonly kind: 'collected'; readonly id: number; readonly values: readonly MetricValues[] }
