import { taskSeq, taskTime } from '../../core/ids.ts'
import type { Json } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import type { EmailContent } from './email.ts'

export interface ResultEmail {
  readonly task_id: string
  readonly type: string
  readonly summary: string | null
  readonly media_type: string
  readonly bytes: Buffer
  /** The result, if it is JSON. */
  readonly json?: Json
  readonly completed_at: number
}

/** A larger result is only in the attachment. */
const MAX_SHOWN_BYTES = 64 * 1024

export function resultSubject(taskId: string): string {
  return `Task Results - ${taskId}`
}

/** The email about a result: a text for people, and the result as the first attachment. */
export function resultContent(result: ResultEmail): EmailContent {
  const { task_id, type, summary, media_type, bytes, json, completed_at } = result
  const file = fileName(media_type)
  const queuedAt = taskSeq(task_id) === undefined ? undefined : taskTime(task_id)
  const lines = [
    `Task Type: ${type}`,
    `Task ID: ${task_id}`,
    'Status: complete',
    `Completed: ${isoTime(completed_at)}`,
    '',
    `Summary: ${summary ?? 'none'}`,
    '',
    'Results:',
    shown(result, file),
    '',
    '---',
    'This is an automated message from AsyncGate.',
    ...(queuedAt === undefined
      ? []
      : [`Task was queued at ${isoTime(queuedAt)} and completed in ${duration(completed_at - queuedAt)}.`]),
  ]
  return {
    text: `${lines.join('\n')}\n`,
    ...(json !== undefined && { json }),
    attachments: [{ filename: file, media_type, content: bytes.toString('base64') }],
  }
}

function shown({ json, bytes, media_type }: ResultEmail, file: string): string {
  if (bytes.length <= MAX_SHOWN_BYTES) {
    if (json !== undefined) return JSON.stringify(json, null, 2)
    if (/^text\//.test(media_type)) return bytes.toString('utf8')
  }
  return `in the attachment ${file} (${bytes.length} bytes)`
}

function fileName(mediaType: string): string {
  if (/^application\/(?:[\w.+-]+\+)?json\b/.test(mediaType)) return 'result.json'
  return /^text\//.test(mediaType) ? 'result.txt' : 'result.bin'
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const parts = [hours > 0 ? `${hours} h` : '', minutes > 0 ? `${minutes} min` : '', `${seconds % 60} s`]
  return parts.filter((part) => part !== '').join(' ')
}
