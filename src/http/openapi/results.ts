import type { JsonSchema } from '../../features/schemas.ts'
import { errorRef } from './errors.ts'
import type { PathOperation } from './openapi.ts'

const text = { type: 'string' }
const bytes = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }

const TASK = { name: 'task_id', in: 'path', required: true, schema: text }

/** Results as plain bytes, which no operation of the catalogue can carry. */
export function resultPaths(): Record<string, Record<string, PathOperation>> {
  const artifact = {
    type: 'object',
    properties: {
      pointer: text,
      channel: text,
      checksum: { type: 'string', description: 'SHA-256 in hex' },
      size: { type: 'integer' },
      media_type: text,
    },
    required: ['pointer', 'channel', 'checksum', 'size', 'media_type'],
  }
  return {
    '/v1/tasks/{task_id}/result': {
      get: {
        operationId: 'download_result',
        tags: ['tasks'],
        summary: 'Download a result',
        description:
          'The result of a task that has ended, of any size. ETag and Digest have its checksum; a body that does not fit it is cut off before its end. One range may be asked for.',
        parameters: [
          TASK,
          query('artifact', 'Which of the artifacts with a pointer, from 0', { type: 'integer', minimum: 0 }),
          query('principal_kind', 'Under a shared key; agent unless said otherwise'),
          query('principal_id', 'Under a shared key: who calls'),
        ],
        responses: {
          200: { description: 'The result, of the type that its worker gave it', content: bytes },
          206: { description: 'The range', content: bytes },
          ...errors(400, 401, 403, 404, 500, 502, 503),
        },
      },
      put: {
        operationId: 'upload_result',
        tags: ['leases'],
        summary: 'Upload a result',
        description:
          'For workers without storage of their own: stores the body, of any size, under the lease that they hold. Name the answer in the artifacts of complete. What no task names is removed after a day.',
        parameters: [
          TASK,
          query('worker_id', 'Who holds the task', text, true),
          query('lease_id', 'Its lease; whichever the worker holds if absent'),
          query('channel', 'Instead of the channel of the type or of the server'),
          query('checksum', 'SHA-256 of the body in hex, if it is to be checked'),
          query('worker_kind', 'Under a shared key; worker unless said otherwise'),
        ],
        requestBody: { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } },
        responses: {
          200: { description: 'Stored', content: { 'application/json': { schema: artifact } } },
          ...errors(400, 401, 403, 404, 409, 413, 415, 500, 503),
        },
      },
    },
  }
}

function query(name: string, description: string, schema: JsonSchema = text, required = false): JsonSchema {
  return { name, in: 'query', description, schema, ...(required && { required }) }
}

function errors(...statuses: number[]): Record<string, JsonSchema> {
  return Object.fromEntries(statuses.map((status) => [status, errorRef(status)]))
}
