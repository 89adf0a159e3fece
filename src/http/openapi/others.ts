import { z } from 'zod'
import type { JsonSchema } from '../../features/schemas.ts'
import { changeShape } from '../../features/tasks/follow.ts'
import { errorRef } from './errors.ts'
import type { PathOperation } from './openapi.ts'
import { resultPaths } from './results.ts'

type Paths = Record<string, Record<string, PathOperation>>

const OPEN = { security: [] }
const text = { type: 'string' }
const seconds = { type: 'integer', minimum: 1 }
const time = { type: 'string', format: 'date-time' }
const drain = { drain: { const: true, description: 'You are to stop: finish what you hold' } }

const runAnswer = object({
  task_id: text,
  run_id: text,
  task_type: text,
  params: {},
  priority: { type: 'integer', minimum: 1, maximum: 10 },
  lease_expires_at: time,
  metadata: { type: 'object' },
})
const noTask = object({ task_id: { type: 'null' }, message: text })

/** What is answered besides the operations of the catalogue. */
export function otherPaths(): Paths {
  return {
    ...serverPaths(),
    ...resultPaths(),
    ...leasePaths(),
    ...workerPaths('/worker', 'lease', { answer: runAnswer, nothing: 'No tasks available' }),
    ...workerPaths('/workers', 'lease_task', { answer: { oneOf: [runAnswer, noTask] } }),
    ...mailPaths(),
  }
}

function serverPaths(): Paths {
  const health = object({
    status: { enum: ['healthy', 'unhealthy'] },
    version: text,
    checks: { type: 'object' },
  })
  const probe = (operationId: string, summary: string): PathOperation => ({
    operationId,
    tags: ['server'],
    summary,
    ...OPEN,
    responses: { 200: json('Well', health), 503: json('Not well', health) },
  })
  const query = (name: string, description: string) => ({ name, in: 'query', description, schema: text })
  const { $schema: _, ...change } = z.toJSONSchema(changeShape)
  return {
    '/health': { get: probe('health_check', 'Is the server well?') },
    '/health/live': { get: probe('health_live', 'Does the process answer?') },
    '/health/ready': { get: probe('health_ready', 'Can it take requests? No while it stops') },
    '/metrics': {
      get: {
        operationId: 'metrics',
        tags: ['server'],
        summary: 'Figures for Prometheus',
        responses: { 200: { description: 'The text format', content: { 'text/plain': { schema: text } } } },
      },
    },
    '/v1/events': {
      get: {
        operationId: 'events',
        tags: ['tasks'],
        summary: 'Task changes as they commit',
        description:
          'A stream of server-sent events of type task. Under a shared key a stream that names only worker_id is that worker’s: it carries status canceled as soon as a task that the worker holds is canceled.',
        parameters: [
          query('task_id', 'Only this task'),
          query('session_id', 'Only tasks of this session'),
          query('worker_id', 'Only tasks under a lease of this worker'),
          query('status', 'Only changes to this status'),
        ],
        responses: {
          200: { description: 'Each data line', content: { 'text/event-stream': { schema: change } } },
          ...errors(400, 401, 403, 404, 503),
        },
      },
    },
  }
}

function leasePaths(): Paths {
  const task = object({
    task_id: text,
    principal_ai: text,
    task_type: text,
    task_summary: { type: ['string', 'null'] },
    task_body: { type: ['string', 'null'] },
    payload: {},
    payload_pointer: text,
    inputs: {},
    expected_outcome_kind: { type: ['string', 'null'] },
    expected_artifact_mime: { type: ['string', 'null'] },
  })
  const offer = { lease_id: text, lease_expires_at: time, task }
  const list = { type: 'array', items: text }
  return {
    '/lease': {
      post: call('lease protocol', 'poll', 'Take an offer', {
        description:
          'A lease lasts 900 s unless lease_ttl_seconds or the operator says otherwise. preferred_kinds only reorder.',
        required: ['worker_id'],
        body: {
          worker_id: { ...text, description: '{type}.{instance}' },
          capabilities: list,
          max_tasks: { type: 'integer', minimum: 1, maximum: 100, default: 1 },
          preferred_kinds: list,
          lease_ttl_seconds: seconds,
          worker_instance_id: { ...text, description: 'Which process of the worker polls' },
          reclaim: {
            type: 'boolean',
            description: 'Take over leases of an earlier process of the worker first',
          },
          wait_seconds: { type: 'number', minimum: 0, maximum: 50 },
        },
        answer: object(offer, { offers: { type: 'array', items: object(offer) } }),
        nothing: 'No work',
      }),
    },
    '/lease/{lease_id}/heartbeat': {
      post: call('lease protocol', 'lease_heartbeat', 'Keep an offer', {
        parameters: [{ name: 'lease_id', in: 'path', required: true, schema: text }],
        description: 'task_id and worker_id may be left out: the lease is found by its id.',
        body: { task_id: text, worker_id: text, progress: { type: 'object' }, extend_by_seconds: seconds },
        answer: object({ status: { const: 'ok' }, lease_id: text, lease_expires_at: time }, drain),
      }),
    },
  }
}

/** The spellings differ in how they say that there is no task. */
function workerPaths(prefix: string, lease: string, taken: Pick<Call, 'answer' | 'nothing'>): Paths {
  const id = prefix.slice(1)
  const run = { task_id: text, run_id: text, worker_id: text }
  const required = ['run_id']
  return {
    [`${prefix}/${lease}`]: {
      post: call('worker port', `${id}_lease`, 'Take a task', {
        required: ['worker_id'],
        body: { worker_id: text, task_types: { type: 'array', items: text }, lease_seconds: seconds },
        ...taken,
      }),
    },
    [`${prefix}/heartbeat`]: {
      post: call('worker port', `${id}_task_heartbeat`, 'Keep a task, and say how far it is', {
        required,
        body: {
          ...run,
          progress_percent: { type: 'number', minimum: 0, maximum: 100 },
          progress_message: text,
          extend_lease_seconds: seconds,
        },
        answer: object({ status: { const: 'ok' }, lease_expires_at: time }, drain),
      }),
    },
    [`${prefix}/complete`]: {
      post: call('worker port', `${id}_complete`, 'Complete a task', {
        required: [...required, 'result_pointer'],
        body: {
          ...run,
          summary: text,
          result_channel: text,
          result_pointer: text,
          result_checksum: text,
          result: {},
          metadata: { type: 'object' },
        },
        answer: object({
          status: { const: 'completed' },
          notification_sent: { const: true },
          notification_id: text,
        }),
      }),
    },
    [`${prefix}/fail`]: {
      post: call('worker port', `${id}_fail`, 'Report a failure', {
        required: [...required, 'error_message'],
        body: {
          ...run,
          error_message: text,
          retryable: { type: 'boolean', default: true },
          metadata: { type: 'object' },
        },
        answer: object(
          { status: { enum: ['failed', 'dead_letter'] }, will_retry: { type: 'boolean' } },
          { retry_scheduled_at: { type: ['string', 'null'] }, notification_sent: { const: true } },
        ),
      }),
    },
  }
}

function mailPaths(): Paths {
  const answer = object(
    { status: { enum: ['received', 'duplicate', 'refused'] } },
    { email_id: text, reason: text },
  )
  return {
    '/webhooks/inbound_email': {
      post: {
        operationId: 'inbound_email',
        tags: ['email'],
        summary: 'Bring a mail',
        description:
          'For mail providers: a mail as Postmark or SendGrid posts it, or as it travels. Signed as Standard Webhooks describes, signed by SendGrid, or with the secret as password or token in the URL. status refused is final.',
        security: [],
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: { type: 'object' } },
            'multipart/form-data': { schema: { type: 'object' } },
            'message/rfc822': { schema: text },
          },
        },
        responses: { 200: json('Settled', answer), ...errors(400, 401, 403, 413, 415, 429, 500, 501, 503) },
      },
    },
  }
}

interface Call {
  readonly description?: string
  readonly parameters?: readonly JsonSchema[]
  readonly required?: readonly string[]
  readonly body: JsonSchema
  readonly answer: JsonSchema
  /** What 204 means, where it may come. */
  readonly nothing?: string
}

function call(tag: string, operationId: string, summary: string, about: Call): PathOperation {
  const { description, parameters, required = [], body, answer, nothing } = about
  const schema = { type: 'object', properties: body, ...(required.length > 0 && { required }) }
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    requestBody: { required: required.length > 0, content: { 'application/json': { schema } } },
    responses: {
      200: json('Done', answer),
      ...(nothing !== undefined && { 204: { description: nothing } }),
      ...errors(400, 401, 403, 404, 409, 413, 415, 500, 503),
    },
  }
}

function errors(...statuses: number[]): Record<string, JsonSchema> {
  return Object.fromEntries(statuses.map((status) => [status, errorRef(status)]))
}

function json(description: string, schema: JsonSchema): JsonSchema {
  return { description, content: { 'application/json': { schema } } }
}

function object(properties: JsonSchema, optional: JsonSchema = {}): JsonSchema {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
  }
}
