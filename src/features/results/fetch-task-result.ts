import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { Json } from '../../core/json/json.ts'
import { parseJson } from '../../core/json/text.ts'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { defineOperation } from '../define-operation.ts'
import { json, time } from '../input.ts'
import { statusShape } from '../tasks/shape.ts'
import { type OpenResult, openStored, type ReadDeps, resultInput } from './open-result.ts'

/** A response is read by a model, so it is small unless the caller asks for more. */
const DEFAULT_LENGTH = 32 * 1024
export const MAX_LENGTH = 1024 * 1024

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i
const TEXT_TYPE = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml)\b)/i

export const fetchResultInput = resultInput.extend({
  offset: z
    .int()
    .min(0)
    .default(0)
    .describe('Offset of the first byte: next_offset of the previous response'),
  length: z.int().min(4).max(MAX_LENGTH).default(DEFAULT_LENGTH).describe('Maximum number of bytes'),
})

const fetchedShape = z.object({
  task_id: z.string().describe('Id of the task'),
  channel: z.string().describe('Channel that stores the result; inline if the task itself does'),
  result_pointer: z
    .string()
    .nullable()
    .describe('Where the result is stored; null if the task itself stores it'),
  media_type: z.string().nullable().describe('Media type of the result; null if unknown'),
  size: z.int().nullable().describe('Total size in bytes; null if unknown'),
  checksum: z.string().nullable().describe('SHA-256 of the whole result in hex; null if unknown'),
  checksum_valid: z
    .boolean()
    .nullable()
    .describe('Whether the checksum matches; null if it was not checked: for a page, or without a checksum'),
  encoding: z.enum(['json', 'text', 'base64']).describe('Encoding of content'),
  content: json.describe('The result, or a page of it: the JSON value itself, text, or base64'),
  offset: z.int().describe('Offset of the first byte of content'),
  next_offset: z.int().nullable().describe('Offset of the next page; null on the last page'),
  metadata: z
    .object({
      type: z.string().describe('Type of the task'),
      status: statusShape.describe('Final status of the task'),
      completed_at: time.describe('Time at which the task ended'),
    })
    .describe('The task of the result'),
})

export const fetchTaskResult = defineOperation({
  name: 'fetch_task_result',
  title: 'Fetch a result',
  description:
    'Returns the result of a task that has ended, wherever it is stored. Use it when get_task shows how_to_retrieve, or artifacts with a pointer. ' +
    'Small JSON is returned as a value (encoding json); anything else in pages of length bytes, as text or base64: continue with offset = next_offset until it is null.',
  input: fetchResultInput,
  output: fetchedShape,
  access: 'read',
  toolsets: ['agent'],
  rest: { method: 'GET', path: '/v1/tasks/{task_id}/result/content' },
  example: { task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c', principal_id: 'planner', offset: 32768 },
  run: ({ engine, results, fetches }, caller, input) =>
    fetchResult({ engine, results, fetches }, caller, input),
})

/** The value itself if it is JSON and fits, otherwise a page. A page of text ends between two characters. */
export async function fetchResult(
  deps: ReadDeps,
  caller: Caller,
  { offset, length, ...input }: z.output<typeof fetchResultInput>,
): Promise<z.output<typeof fetchedShape>> {
  const opened = await openStored(deps, caller, input)
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
  /** Whether it is the whole result, with a verified checksum. */
  readonly isWhole: boolean
  readonly hasMore: boolean
}

/** Reads one byte more than requested, to find out whether there is more. */
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
  /** Number of bytes that content represents. */
  readonly bytes: number
}

function shown({ bytes, isWhole, hasMore }: Page, mediaType: string | null): Shown {
  const value = isWhole && (mediaType === null || JSON_TYPE.test(mediaType)) ? jsonIn(bytes) : undefined
  if (value !== undefined) return { encoding: 'json', content: value, bytes: bytes.length }
  const text = mediaType === null || TEXT_TYPE.test(mediaType) ? textIn(bytes, hasMore) : undefined
  if (text !== undefined) return { encoding: 'text', content: text.toString('utf8'), bytes: text.length }
  return { encoding: 'base64', content: bytes.toString('base64'), bytes: bytes.length }
}

/** The bytes as text. An incomplete last character is left to the next page. */
function textIn(bytes: Buffer, isCut: boolean): Buffer | undefined {
  const ends = isCut ? [0, 1, 2, 3] : [0]
  return ends
    .map((rest) => bytes.subarray(0, Math.max(0, bytes.length - rest)))
    .find((part) => isUtf8(part) && (part.length > 0 || !isCut))
}

/** Undefined if it is not JSON, or JSON whose value would change when it is parsed. */
function jsonIn(bytes: Buffer): Json | undefined {
  if (!isUtf8(bytes)) return undefined
  try {
    return parseJson(bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}
