import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { nextTurn } from '../util/turns.ts'

export const MAX_ITEMS = 1000

/** The body of an error, as one item of a list of outcomes. */
export const itemError = z.object({
  error: z.string().describe('The error code in lower case'),
  code: z.string().describe('Machine-readable error code'),
  message: z.string().describe('What went wrong'),
  hint: z.string().describe('What to do about it'),
  retryable: z.boolean().describe('Whether the same request may succeed later'),
  details: z.unknown().optional().describe('More about the error, depending on its code'),
})

/** The response for an item, or the body of its error. */
export type ItemOutcome<Answer> = Answer | ReturnType<Fault['toJSON']>

interface Reporter {
  /** Receives errors that callers see only as INTERNAL_ERROR. */
  report(error: unknown): void
}

interface ManyLimits {
  /** Items that have not been started by then are refused. */
  readonly budgetMs?: number
  readonly now?: () => number
}

const BUDGET_MS = 10_000

/** Items are started without yielding for this long. A typical batch takes less, and so goes into one commit. */
const SLICE_MS = 10

/**
 * Runs an operation for each item; outcomes are in the order of the items. Every item has its own outcome, also one
 * that fails unexpectedly or is not started in time, so that the caller always learns what was done for the others.
 */
export async function outcomesOf<Item, Answer>(
  items: readonly Item[],
  run: (item: Item) => Promise<Answer>,
  reporter: Reporter,
  { budgetMs = BUDGET_MS, now = () => performance.now() }: ManyLimits = {},
): Promise<ItemOutcome<Answer>[]> {
  const faultOf = (error: unknown) => {
    if (error instanceof Fault) return error.toJSON()
    reporter.report(error)
    return new Fault('INTERNAL_ERROR').toJSON()
  }
  const outcomes: Promise<ItemOutcome<Answer>>[] = []
  const started = now()
  let sliceStarted = started
  for (const item of items) {
    const time = now()
    if (time - started > budgetMs) {
      outcomes.push(Promise.resolve(notStarted(outcomes.length)))
      continue
    }
    outcomes.push(run(item).catch(faultOf))
    await caughtUp()
    if (now() - sliceStarted < SLICE_MS) continue
    await nextTurn()
    sliceStarted = now()
  }
  return Promise.all(outcomes)
}

/** Node runs a tick after all settled promises: the computation of an item is done by then. */
function caughtUp(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

function notStarted(index: number) {
  const message = `The earlier items (${index}) used up the time of the request, so this one was not started.`
  return new Fault('OVERLOADED', { item: index }, message).toJSON()
}
