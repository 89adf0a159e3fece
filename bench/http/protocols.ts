import { newArtifacts, newPayload, newResult } from '../engine/lifecycle.ts'
import type { Connection } from './connection.ts'

export interface Taken {
  readonly task_id: string
  readonly lease_id: string
}

/** The three calls of a lifecycle, for one or for many tasks per request. */
export interface Protocol {
  readonly name: string
  create(connection: Connection, count: number): Promise<void>
  claim(connection: Connection, worker_id: string, count: number): Promise<Taken[]>
  complete(connection: Connection, worker_id: string, taken: readonly Taken[]): Promise<void>
}

const task = () => ({ type: 'summarise', payload: newPayload(), principal_ai: 'alice' })
const done = () => ({ result: newResult(), artifacts: newArtifacts() })

/** Calls an operation and returns its result. */
export type Call = (
  connection: Connection,
  operation: string,
  path: string,
  input: object,
) => Promise<unknown>

function protocol(name: string, call: Call): Protocol {
  return {
    name,
    async create(connection, count) {
      if (count === 1) await call(connection, 'create_task', '/v1/tasks', task())
      else {
        const input = { principal_id: 'alice', tasks: Array.from({ length: count }, task) }
        await call(connection, 'create_tasks', '/v1/tasks/batch', input)
      }
    },
    async claim(connection, worker_id, count) {
      const answer = await call(connection, 'lease_next', '/v1/leases/claim', { worker_id, max_tasks: count })
      return (answer as { tasks: Taken[] }).tasks
    },
    async complete(connection, worker_id, taken) {
      const [first] = taken
      if (first === undefined) return
      if (taken.length === 1) {
        const { task_id, lease_id } = first
        const path = `/v1/tasks/${task_id}/complete`
        await call(connection, 'complete', path, { worker_id, task_id, lease_id, ...done() })
      } else {
        const items = taken.map(({ task_id, lease_id }) => ({ worker_id, task_id, lease_id, ...done() }))
        await call(connection, 'complete_many', '/v1/tasks/complete', { items })
      }
    },
  }
}

export const callRest: Call = async (connection, _operation, path, input) =>
  JSON.parse(await connection.post(path, JSON.stringify(input)))

export const rest = protocol('REST', callRest)

const VERSION = '2026-07-28'
/** Distinguishes the clients that share a key. */
const CLIENT_INSTANCE = 'io.asyncgate/client_instance'
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
}

export const callMcp: Call = async (connection, operation, _path, input) => {
  const { content } = await callTool(connection, `asyncgate.${operation}`, input)
  return JSON.parse(content[0].text)
}

export const mcp = protocol('MCP 2026-07-28', callMcp)

/** The result of a tool call. `instance` names one of several clients that share a key. */
export async function callTool(connection: Connection, name: string, input: object, instance?: string) {
  const _meta = instance === undefined ? META : { ...META, [CLIENT_INSTANCE]: instance }
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: input, _meta },
  })
  const headers = `Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: ${VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: ${name}\r\n`
  const { result } = JSON.parse(await connection.post('/mcp', body, headers))
  if (result.isError) throw new Error(JSON.stringify(result.content))
  return result
}
