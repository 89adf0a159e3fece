import { bareCall, META, MODERN, modernCall, modernPost, type Post } from './endpoint.ts'
import { TASKS_META } from './tasks/task-client.ts'

export interface Case extends Post {
  readonly name: string
  readonly status: number
  /** The code of the JSON-RPC error or of the contract's error; absent if there is a result or no response. */
  readonly code?: number | string
}

const LIST = 'tools/list'
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
const without = (key: string) => Object.fromEntries(Object.entries(META).filter(([name]) => name !== key))
const meta = (more: object) => ({ _meta: { ...META, ...more } })
const call = (params: object, headers: object = { 'mcp-name': 'asyncgate.health' }) =>
  modernPost('tools/call', params, headers)
const health = { name: 'asyncgate.health' }
const plain = (headers: Readonly<Record<string, string>>): Post => ({ ...modernPost(LIST), headers })
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
/** A request about a missing task, by a client that supports tasks. */
export const aboutTask = (method: string, params: object = {}, headers: object = {}): Post =>
  modernPost(method, { taskId: 'none', _meta: TASKS_META, ...params }, { 'mcp-name': 'none', ...headers })
const raw = (args: string): Post => ({
  ...modernCall('asyncgate.create_task'),
  body: JSON.stringify(modernCall('asyncgate.create_task').body).replace(
    '"arguments":{}',
    `"arguments":${args}`,
  ),
})

/** Requests of every kind with their expected responses, on the fast path and in the SDK. */
export const CASES: readonly Case[] = [
  { name: 'a list', ...modernPost(LIST), status: 200 },
  { name: 'a list with a text as id', ...modernPost(LIST, {}, {}, 'x'), status: 200 },
  { name: 'a list with an unknown cursor', ...modernPost(LIST, { cursor: 'x' }), status: 200 },
  {
    name: 'a list without client info',
    ...modernPost(LIST, { _meta: without('io.modelcontextprotocol/clientInfo') }),
    status: 200,
  },
  {
    name: 'a list with a trace',
    ...modernPost(LIST, meta({ traceparent: '00-1', progressToken: 7 })),
    status: 200,
  },
  { name: 'a call', ...modernCall('asyncgate.health'), status: 200 },
  { name: 'a call in the other spelling', ...modernCall('asyncgate_health'), status: 200 },
  { name: 'a call without arguments', ...call(health), status: 200 },
  {
    name: 'a call whose name is in base64',
    ...call(health, { 'mcp-name': base64('asyncgate.health') }),
    status: 200,
  },
  { name: 'a call with answers to questions', ...call({ ...health, inputResponses: {} }), status: 200 },
  { name: 'discovery', ...modernPost('server/discover'), status: 200 },

  { name: 'no version in the headers', ...plain({ 'mcp-method': LIST }), status: 400, code: -32020 },
  {
    name: 'another version in the headers',
    ...modernPost(LIST, {}, { 'mcp-protocol-version': '2025-11-25' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'no method in the headers',
    ...plain({ 'mcp-protocol-version': MODERN }),
    status: 400,
    code: -32020,
  },
  {
    name: 'another method in the headers',
    ...modernPost(LIST, {}, { 'mcp-method': 'tools/call' }),
    status: 400,
    code: -32020,
  },
  { name: 'no name in the headers', ...modernPost('tools/call', health), status: 400, code: -32020 },
  {
    name: 'another name in the headers',
    ...call(health, { 'mcp-name': 'asyncgate.fail' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'the other spelling in the headers',
    ...call(health, { 'mcp-name': 'asyncgate_health' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'a name in broken base64',
    ...call(health, { 'mcp-name': '=?base64?%%%?=' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'a name in base64 of no text',
    ...call(health, { 'mcp-name': '=?base64?/w==?=' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'an unknown version',
    ...modernPost(LIST, meta({ 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }), {
      'mcp-protocol-version': '2099-01-01',
    }),
    status: 400,
    code: -32022,
  },
  { name: 'no envelope', ...modernPost(LIST, { _meta: {} }), status: 400, code: -32602 },
  {
    name: 'no capabilities',
    ...modernPost(LIST, { _meta: without('io.modelcontextprotocol/clientCapabilities') }),
    status: 400,
    code: -32602,
  },
  {
    name: 'capabilities that are none',
    ...modernPost(LIST, meta({ 'io.modelcontextprotocol/clientCapabilities': { roots: 1 } })),
    status: 400,
    code: -32602,
  },
  {
    name: 'client info without a version',
    ...modernPost(LIST, meta({ 'io.modelcontextprotocol/clientInfo': { name: 'x' } })),
    status: 400,
    code: -32602,
  },
  {
    name: 'an unknown log level',
    ...modernPost(LIST, meta({ 'io.modelcontextprotocol/logLevel': 'loud' })),
    status: 400,
    code: -32602,
  },
  {
    name: 'a progress token that is none',
    ...modernPost(LIST, meta({ progressToken: {} })),
    status: 400,
    code: -32600,
  },
  { name: 'an unknown method', ...modernPost('tools/forget'), status: 404, code: -32601 },
  { name: 'a method that is no more', ...modernPost('ping'), status: 404, code: -32601 },
  { name: 'a handshake in the modern era', ...modernPost('initialize'), status: 404, code: -32601 },
  { name: 'an unknown tool', ...modernCall('asyncgate.forget'), status: 200, code: -32602 },
  { name: 'a name that is none', ...call({ name: 7 }, {}), status: 200, code: -32602 },
  { name: 'arguments that are none', ...call({ ...health, arguments: 7 }), status: 200, code: -32602 },

  {
    name: 'input that does not fit',
    ...modernCall('asyncgate.create_task', { priority: 'high' }),
    status: 200,
    code: 'VALIDATION_ERROR',
  },
  {
    name: 'an unknown field',
    ...modernCall('asyncgate.create_task', { type: 'x', colour: 1 }),
    status: 200,
    code: 'VALIDATION_ERROR',
  },
  { name: 'a key twice', ...raw('{"type":"a","type":"b"}'), status: 200, code: 'VALIDATION_ERROR' },
  {
    name: 'an integer that loses digits',
    ...raw('{"type":"a","payload":9007199254740993}'),
    status: 200,
    code: 'VALIDATION_ERROR',
  },
  { name: 'a payload as deep as in REST', ...raw(`{"type":"a","payload":${nested(63)}}`), status: 200 },
  {
    name: 'a payload that is too deep',
    ...raw(`{"type":"a","payload":${nested(64)}}`),
    status: 200,
    code: 'VALIDATION_ERROR',
  },
  {
    name: 'a task that is not there',
    ...modernCall('asyncgate.get_task', { task_id: 'none' }),
    status: 200,
    code: 'TASK_NOT_FOUND',
  },
  {
    name: 'a lease that is not there',
    ...modernCall('asyncgate.complete', { worker_id: 'w', task_id: 'x', lease_id: 'x', result: {} }),
    status: 200,
    code: 'TASK_NOT_FOUND',
  },
  {
    name: 'another tenant',
    ...modernCall('asyncgate.health', { tenant_id: 'other' }),
    status: 200,
    code: 'FORBIDDEN',
  },
  {
    name: 'the system itself',
    ...modernCall('asyncgate.list_tasks', { principal_id: 'x', principal_kind: 'system' }),
    status: 200,
    code: 'FORBIDDEN',
  },

  { name: 'a look at a task that is not there', ...aboutTask('tasks/get'), status: 200, code: -32602 },
  { name: 'a cancel of a task that is not there', ...aboutTask('tasks/cancel'), status: 200, code: -32602 },
  {
    name: 'answers to a task that is not there',
    ...aboutTask('tasks/update', { inputResponses: { q1: { action: 'decline' } } }),
    status: 200,
    code: -32602,
  },
  {
    name: 'answers that are none',
    ...aboutTask('tasks/update', { inputResponses: { q1: { method: 'x', result: {} }, q2: 7 } }),
    status: 200,
    code: -32602,
  },
  {
    name: 'a look by a client that knows no tasks',
    ...aboutTask('tasks/get', { _meta: META }),
    status: 400,
    code: -32021,
  },
  {
    name: 'a look at one task in the headers and at another in the body',
    ...aboutTask('tasks/get', {}, { 'mcp-name': 'other' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'a look at a task whose id is in base64',
    ...aboutTask('tasks/get', {}, { 'mcp-name': base64('none') }),
    status: 200,
    code: -32602,
  },
  { name: 'a look at no task', ...aboutTask('tasks/get', { taskId: 7 }), status: 200, code: -32602 },
  {
    name: 'a call that asks for a task as before',
    ...call({ ...health, task: { ttl: 1 } }),
    status: 200,
  },

  { name: 'no JSON', body: '{"jsonrpc":', status: 400, code: -32700 },
  { name: 'nothing', body: '', status: 400, code: -32700 },
  { name: 'no message', body: { hello: 'world' }, status: 400, code: -32600 },
  {
    name: 'a key of the message twice',
    body: '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}',
    status: 400,
    code: -32600,
  },
  {
    name: 'more than a message',
    ...modernPost(LIST),
    body: { jsonrpc: '2.0', id: 1, method: LIST, params: { _meta: META }, extra: 1 },
    status: 400,
    code: -32600,
  },
  { name: 'a fraction as id', ...modernPost(LIST, {}, {}, 1.5), status: 400, code: -32600 },
  { name: 'a batch in the modern era', body: [modernPost(LIST).body], status: 400, code: -32600 },
  {
    name: 'a notification',
    body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, _meta: META } },
    headers: { 'mcp-protocol-version': MODERN, 'mcp-method': 'notifications/cancelled' },
    status: 202,
  },

  { name: 'a bare list', body: { jsonrpc: '2.0', id: 1, method: LIST }, status: 200 },
  { name: 'a bare call', ...bareCall('asyncgate.health'), status: 200 },
  {
    name: 'a bare call that fails',
    ...bareCall('asyncgate.create_task'),
    status: 200,
    code: 'VALIDATION_ERROR',
  },
  { name: 'a bare call of an unknown tool', ...bareCall('asyncgate.forget'), status: 200, code: -32602 },
  {
    name: 'a bare unknown method',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/forget' },
    status: 200,
    code: -32601,
  },
  {
    name: 'a notification of the older era',
    body: { jsonrpc: '2.0', method: 'notifications/initialized' },
    status: 202,
  },
  {
    name: 'an unknown older version',
    ...bareCall('asyncgate.health'),
    headers: { 'mcp-protocol-version': '2020-01-01' },
    status: 400,
    code: -32000,
  },
]
