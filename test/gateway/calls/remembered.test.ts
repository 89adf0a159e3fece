import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { admin } from '../../support/gates.ts'
import { person } from '../../support/questions.ts'
import { program } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'

type Connect = (served: Served, name: string) => Promise<Client>

const TRANSPORTS: readonly (readonly [string, Connect])[] = [
  ['HTTP, 2026-07-28', (served, name) => served.connect('modern', name)],
  ['HTTP, 2025-11-25', (served, name) => served.connect('legacy', name)],
  ['stdio', (served, name) => served.connectStdio('legacy', name)],
]

const waiting = z.looseObject({ task_id: z.string(), status: z.literal('pending_approval') })

const echo = (client: Client) => client.callTool({ name: 'fix__echo', arguments: { text: 'hello' } })

/** The task of a call that waits for approval. */
async function asks(client: Client): Promise<string> {
  return waiting.parse((await echo(client)).structuredContent).task_id
}

const ANSWER = { content: [{ type: 'text', text: 'hello' }] }

describe.each(TRANSPORTS)('a remembered approval for a client without an agent_id, over %s', (_, connect) => {
  it('the approval covers every client of that name and no other client', async () => {
    const served = await serve([program('modern')], { ASYNCGATE_UPSTREAM_DEFAULT: 'REQUIRE_APPROVAL' })
    const claude = await connect(served, 'Claude Code')
    const others = await Promise.all(TRANSPORTS.map(([, connectOther]) => connectOther(served, 'codex')))
    const task_id = await asks(claude)
    expect(await served.gate.getTask(admin(), { task_id })).toMatchObject({
      created_by: { kind: 'agent', id: 'claude-code' },
    })
    const remember_until = new Date(Date.now() + 3_600_000).toISOString()
    const { rule_id } = await served.gate.approve(person(), { task_id, remember_until })
    expect(rule_id).toBeDefined()
    expect(await served.gate.getPolicy(admin(), { id: String(rule_id) })).toMatchObject({
      scope: { principal: 'agent:claude-code', upstream: 'fix', tool: 'echo' },
    })
    expect(await echo(claude)).toMatchObject(ANSWER)
    // The agent is identified by the client name, whatever its process or transport.
    for (const [, connectAgain] of TRANSPORTS) {
      expect(await echo(await connectAgain(served, 'Claude Code'))).toMatchObject(ANSWER)
    }
    for (const other of others) await asks(other)
    for (const name of ['claude', 'Claude Code 2', 'claude-code.2', 'agent:claude-code', 'root']) {
      await asks(await connect(served, name))
    }
    // Another tool of the same upstream still needs approval.
    const { structuredContent } = await claude.callTool({ name: 'fix__wait', arguments: {} })
    expect(waiting.safeParse(structuredContent).success).toBe(true)
  })
})
