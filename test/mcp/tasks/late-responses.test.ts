import { describe, expect, it, onTestFinished } from 'vitest'
import { taskHandlers } from '../../../src/mcp/tasks/task-handlers.ts'
import type { Call } from '../../../src/mcp/tools/tool.ts'
import { PeerError, type PeerResponse } from '../../../src/mcp/transport/peer.ts'
import { admin, agent, worker } from '../../support/gates.ts'
import { serveMcp, startMcp } from '../endpoint.ts'
import { CONSOLE, offerApproved, onlyTask } from './asked-clients.ts'
import { complete, offerSum, take } from './task-work.ts'

const start = () => startMcp({ parts: () => ({ address: () => CONSOLE }) })

it('a response that reaches another server decides, and the call continues on the server that asked', async () => {
  const server = await start()
  const other = await serveMcp(server.gate)
  onTestFinished(() => other.close())
  await offerApproved(server.gate, { approve_by: 'client' })
  const post = (url: string, message: object, session: string | null = null) =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session !== null && { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const greeted = await post(server.url, {
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'alice', version: '1' },
    },
  })
  const session = greeted.headers.get('mcp-session-id')
  const params = { name: 'sum', arguments: {} }
  const called = await post(server.url, { id: 2, method: 'tools/call', params }, session)
  const reader = called.body?.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  const hear = async (text: string) => {
    while (!heard.includes(text)) {
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done) throw new Error(`The stream ended without ${text}: ${heard}`)
      heard += value
    }
  }
  await hear('elicitation/create')
  const id = `question:${await onlyTask(server.gate)}:1`
  expect(heard).toContain(id)
  const result = { action: 'accept', content: { approve: true } }
  // A client with another name is another principal.
  const mallory = session?.replace(/\..*/, `.${Buffer.from('["mallory","1","f"]').toString('base64url')}`)
  expect((await post(other.url, { id, result }, mallory)).status).toBe(202)
  expect(await server.gate.getApproval(admin(), { task_id: await onlyTask(server.gate) })).toMatchObject({
    state: 'open',
  })
  expect((await post(other.url, { id, result }, session)).status).toBe(202)
  await complete(server.gate, await take(server.gate), { sum: 3 })
  await hear('"sum":3')
})

describe('a response that reaches a server which did not ask', () => {
  async function parked() {
    const server = await start()
    await offerSum(server.gate)
    const { task_id } = await server.gate.createTask(agent('alice'), { type: 'sum' })
    await server.gate.ask(worker(), {
      ...(await take(server.gate)),
      kind: 'input',
      request: { message: 'Where to?' },
    })
    const { questions } = taskHandlers({
      gate: server.gate,
      waitTool: 'wait',
      onError: (error) => server.errors.push(error),
    })
    const callOf = (id: string): Call => ({
      credential: { kind: 'bound', tenant: 'default', principal: { kind: 'agent', id }, role: 'agent' },
      signal: new AbortController().signal,
    })
    const status = async () => (await server.gate.getTask(admin(), { task_id })).status
    return { server, questions, task_id, callOf, status }
  }

  const result = { action: 'accept', content: { answer: 'Rome' } }

  it('answers the stored question', async () => {
    const { questions, task_id, callOf, status } = await parked()
    await questions.late({ id: `question:${task_id}:1`, result }, callOf('alice'))
    expect(await status()).toBe('queued')
  })

  it('is ignored if it is malformed, about another question, or of another caller', async () => {
    const { server, questions, task_id, callOf, status } = await parked()
    const hostile: readonly PeerResponse[] = [
      { id: `question:${task_id}:2`, result },
      { id: `question:${task_id}`, result },
      { id: `question:${task_id}:1:x`, result },
      { id: `question:${'0'.repeat(36)}:1`, result },
      { id: `question:${task_id}:1`, result: { action: 'approve' } },
      { id: `question:${task_id}:1`, error: new PeerError(-1, 'no') },
      { id: 'x'.repeat(1_000_000), result },
    ]
    for (const response of hostile) await questions.late(response, callOf('alice'))
    await questions.late({ id: `question:${task_id}:1`, result }, callOf('mallory'))
    expect(await status()).toBe('input_required')
    expect(server.errors).toEqual([])
  })
})
