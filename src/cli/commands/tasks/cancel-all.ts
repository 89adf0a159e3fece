import { z } from 'zod'
import type { Client } from '../../client.ts'
import { CliError, EXIT, type ExitCode } from '../../exit.ts'
import { type Output, ProgressLine } from '../../output.ts'
import { stopRequested } from '../../signals.ts'

const answerShape = z.looseObject({
  count: z.number(),
  skipped: z.number(),
  more: z.boolean(),
  next_cursor: z.string().nullable(),
})

/** So many at a time, so that the count is seen to rise. */
const PORTION = 1000

/** Cancels all open tasks that fit, as one operation that can be stopped. */
export async function cancelAll(
  client: Client,
  fields: Readonly<Record<string, unknown>>,
  output: Output,
): Promise<ExitCode> {
  const stopping = new AbortController()
  stopRequested().then(() => stopping.abort())
  const progress = new ProgressLine()
  let count = 0
  let skipped = 0
  let cursor: string | undefined
  try {
    do {
      progress.show(`canceled ${counted(count)}`)
      const body = { ...fields, limit: PORTION, cursor }
      const answer = await client.post('/v1/tasks/cancel', body, answerShape, stopping.signal)
      count += answer.count
      skipped += answer.skipped
      cursor = answer.next_cursor ?? undefined
    } while (cursor !== undefined)
  } catch (error) {
    if (count === 0 && !stopping.signal.aborted) throw error
    throw cutShort(error, count, stopping.signal.aborted)
  } finally {
    progress.clear()
  }
  output.answer({ count, matched: count + skipped, skipped }, () => {
    const others = skipped === 0 ? '' : `; ${counted(skipped)} had ended before`
    output.say(
      count === 1 ? `1 task is canceled${others}.` : `${counted(count)} tasks are canceled${others}.`,
    )
  })
  return EXIT.ok
}

/** Some are canceled and some are not: the person must know how many, whatever went wrong. */
function cutShort(error: unknown, count: number, wasStopped: boolean): CliError {
  const soFar = `At least ${counted(count)} tasks are canceled; others may still be open.`
  const again = 'Run the command again to go on.'
  if (wasStopped) return new CliError(EXIT.failure, `Stopped. ${soFar}`, again, { count })
  if (!(error instanceof CliError)) throw error
  return new CliError(error.exitCode, `${error.message} ${soFar}`, again, { ...error.body, count })
}

function counted(count: number): string {
  return count.toLocaleString('en-US')
}
