import type { RateLimit, Standing } from '../../core/rate-limit.ts'

/** A limit and the name under which its calls are counted. */
export interface Bucket {
  readonly name: string
  readonly limit: RateLimit
}

/** Where calls are counted. */
export interface Buckets {
  /**
   * Takes `cost` calls from every bucket, or from none if one of them has too few. Returns what is left of each. A cost of
   * 0 only reads.
   */
  take(buckets: readonly Bucket[], cost: number): readonly Standing[] | Promise<readonly Standing[]>
}
