/**
 * The gate's time follows the clock of its store and never goes back. When that clock was set back, time goes on from
 * where it was, slower than the clock by one part in this many, until the clock has caught up.
 */
export const SLOWER_BY = 10
