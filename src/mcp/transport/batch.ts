import type { ServerResponse } from 'node:http'
import { Fault } from '../../core/errors.ts'
import type { JsonPieces } from '../../engine/stored-json.ts'
import { isObject } from '../../util/guards.ts'
import { nextTurn } from '../../util/turns.ts'
import { BROKEN, type Refusal, refusal, refusalBody, requestIdOf, sendPieces } from './wire.ts'

/** The response to one message as JSON; undefined for a notification. */
export type Answered = string | JsonPieces | undefined

export interface BatchHandler {
  answer(message: unknown): Promise<Answered>
  /** Whether the message may wait, so that the others must not wait for it. */
  waits(message: unknown): boolean
  onError?: ((error: unknown) => void) | undefined
}

/** The limit for all responses together. After that, messages are refused. */
const MAX_CHARACTERS = 8 * 1024 * 1024

/** A batch that contains no handshake. */
export function isBatch(body: unknown): body is readonly unknown[] {
  const isHandshake = (message: unknown) => isObject(message) && message.method === 'initialize'
  return Array.isArray(body) && body.length > 0 && !body.some(isHandshake)
}

/**
 * Handles the messages of a batch in order, so that the size of the responses stays bounded. Messages that may wait run
 * concurrently.
 */
export async function serveBatch(
  response: ServerResponse,
  messages: readonly unknown[],
  handler: BatchHandler,
): Promise<void> {
  const answers: (string | JsonPieces)[] = []
  let left = MAX_CHARACTERS
  const answer = async (message: unknown) => {
    const answered = await handler.answer(message).catch((error: unknown) => {
      const isExpected = error instanceof Fault
      if (!isExpected) handler.onError?.(error)
      return refused(message, isExpected ? refusal(error) : BROKEN)
    })
    if (answered === undefined) return
    answers.push(answered)
    left -= answered.length
  }
  const waiting: Promise<void>[] = []
  for (const message of messages) {
    if (response.destroyed) break
    if (left <= 0) {
      const unanswered = refused(message, refusal(new Fault('OVERLOADED', {}, NOT_BEGUN)))
      if (unanswered !== undefined) answers.push(unanswered)
    } else if (handler.waits(message)) {
      waiting.push(answer(message))
    } else {
      await answer(message)
      await nextTurn()
    }
  }
  await Promise.all(waiting)
  if (response.destroyed) return
  if (answers.length === 0) response.writeHead(202).end()
  else await sendPieces(response, joined(answers))
}

const NOT_BEGUN =
  'The responses to the other messages fill the batch, so this message was not processed. Send it separately.'

/** The error response; undefined for a notification. */
function refused(message: unknown, why: Refusal): string | undefined {
  const id = requestIdOf(message)
  return id === null ? undefined : JSON.stringify(refusalBody(why, id))
}

function* joined(answers: readonly (string | JsonPieces)[]): Generator<string> {
  for (const [i, answer] of answers.entries()) {
    yield i === 0 ? '[' : ','
    if (typeof answer === 'string') yield answer
    else yield* answer
  }
  yield ']'
}
