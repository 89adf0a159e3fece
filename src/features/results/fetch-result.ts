import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { Json } from '../../core/json/json.ts'
import { parseJson } from '../../core/json/text.ts'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { parse } from '../input.ts'
import type { Services } from '../services.ts'
import { type OpenResult, openResult, resultInput } from './open-result.ts'

/** An answer is read by a model, so it is small unless it is asked to be larger. */
const DEFAULT_LENGTH = 32 * 1024
export const MAX_LENGTH = 1024 * 1024

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i
const TEXT_TYPE = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml)\b)/i

export const fetchResultInput = resultInput.extend({
  offset: z
    .int()
    .min(0)
    .default(0)
    .meta({ description: 'First byte wanted; the next_offset of the last answer' }),
  length: z.int().min(4).max(MAX_LENGTH).default(DEFAULT_LENGTH).meta({ description: 'Most bytes wanted' }),
})

/**
 * A result as part of an answer: the value itself if it is JSON and fits, else a page of it. A page of text ends
 * between two characters.
 */
export async function fetchResult(engine: Services, caller: Caller, input: unknown) {
  const { offset, length, ...asked } = parse(fetchResultInput, input)
  const opened = await openResult(engine, caller, asked)
  const { task, record, artifact, size } = opened
  const read = await page(opened, offset, length)
  const { encoding, content, bytes } = shown(read, artifact.media_type)
  return {
    task_id: task.task_id,
    channel: artifact.channel,
    result_pointer: artifact.pointer,
    media_type: artifact.media_type,
    size: size ?? (read.isWhole ? bytes : null),
    checksum: artifact.checksum,
    checksum_valid: read.isWhole && artifact.checksum !== null ? true : null,
    encoding,
    content,
    offset,
    next_offset: read.hasMore ? offset + bytes : null,
    metadata: {
      type: record.spec.type,
      status: task.status,
      completed_at: isoTime(task.outcome.completed_at),
    },
  }
}

interface Page {
  readonly bytes: Buffer
  /** It is all there is, and was checked. */
  readonly isWhole: boolean
  readonly hasMore: boolean
}

/** Reads one byte more than is wanted, to see whether there is more. */
async function page({ size, read }: OpenResult, offset: number, length: number): Promise<Page> {
  const mayBeWhole = offset === 0 && (size === undefined || size <= length)
  const content = mayBeWhole ? read() : read({ offset, length: length + 1 })
  const chunks: Uint8Array[] = []
  let total = 0
  for await (const chunk of content) {
    chunks.push(chunk)
    total += chunk.length
    if (total > length) break
  }
  const bytes = Buffer.concat(chunks).subarray(0, length)
  return { bytes, isWhole: mayBeWhole && total <= length, hasMore: total > length }
}

interface Shown {
  readonly encoding: 'json' | 'text' | 'base64'
  readonly content: Json
  /** How many of the bytes are in it. */
  readonly bytes: number
}

function shown({ bytes, isWhole, hasMore }: Page, mediaType: string | null): Shown {
  const value = isWhole && (mediaType === null || JSON_TYPE.test(mediaType)) ? jsonIn(bytes) : undefined
  if (value !== undefined) return { encoding: 'json', content: value, bytes: bytes.length }
  const text = mediaType === null || TEXT_TYPE.test(mediaType) ? textIn(bytes, hasMore) : undefined
  if (text !== undefined) return { encoding: 'text', content: text.toString('utf8'), bytes: text.length }
  return { encoding: 'base64', content: bytes.toString('base64'), bytes: bytes.length }
}

/** Text is for a model to read. What a cut leaves of the last character goes to the next page. */
function textIn(bytes: Buffer, isCut: boolean): Buffer | undefined {
  const ends = isCut ? [0, 1, 2, 3] : [0]
  return ends
    .map((rest) => bytes.subarray(0, Math.max(0, bytes.length - rest)))
    .find((part) => isUtf8(part) && (part.length > 0 || !isCut))
}

/** Undefined if it is not JSON, or JSON whose value would not be the same here as at the worker. */
function jsonIn(bytes: Buffer): Json | undefined {
  if (!isUtf8(bytes)) return undefined
  try {
    return parseJson(bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}
