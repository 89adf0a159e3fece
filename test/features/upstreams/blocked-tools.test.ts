import { expect, it, vi } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { offering } from '../../policy/upstreams.ts'
import { admin, describeGates } from '../../support/gates.ts'

type Fields = Readonly<Record<string, unknown>>

const put = (gate: Gate, id: string, fields: Fields) => gate.putPolicy(admin(), { id, ...fields })
const MAIL = { upstreams: offering({ send: 'write', read: 'read' }) }

const names = async (gate: Gate, principal?: `${'agent' | 'human'}:${string}`) =>
  [...(await gate.blockedTools('default', principal))].sort()

/** Counts how often a listener was notified of changed tools. */
function listenTo(gate: Gate) {
  const heard = vi.fn()
  gate.onUpstreamTools(heard)
  return heard
}

describeGates('blocked upstream tools', (open, storeName) => {
  it('a tool is blocked if rules block it regardless of the arguments', async () => {
    const { gate } = await open(MAIL)
    expect(await names(gate)).toEqual(['mail__read', 'mail__send'])
    await put(gate, 'reads', { action: 'ALLOW', scope: { category: 'read' } })
    expect(await names(gate)).toEqual(['mail__send'])
    await put(gate, 'small', { action: 'ALLOW', condition: { '<': [{ var: 'args.amount' }, 5] } })
    expect(await names(gate)).toEqual([])
    await put(gate, 'never', { action: 'BLOCK', priority: 300, scope: { tool: 'send' } })
    expect(await names(gate)).toEqual(['mail__send'])
    expect([...(await gate.blockedTools('elsewhere'))]).toEqual([])
  })

  it('rules for a caller block tools for that caller only', async () => {
    const { gate } = await open(MAIL)
    await put(gate, 'alice', { action: 'ALLOW', scope: { principal: 'alice' } })
    expect(await names(gate)).toEqual([])
    expect(await names(gate, 'agent:alice')).toEqual([])
    expect(await names(gate, 'agent:bob')).toEqual(['mail__read', 'mail__send'])
  })

  it('the evaluation is reused until rules or tools change', async () => {
    const { gate } = await open(MAIL)
    const first = await gate.blockedTools('default')
    expect(await gate.blockedTools('default')).toBe(first)
    await put(gate, 'red', { action: 'REDACT', redact: { targets: 'args', paths: ['$.a'] } })
    expect(await gate.blockedTools('default')).toBe(first)
    await put(gate, 'reads', { action: 'ALLOW', scope: { category: 'read' } })
    expect(await gate.blockedTools('default')).not.toBe(first)
  })

  it('listeners are called only when a rule change affects the blocked tools', async () => {
    const { gate } = await open(MAIL)
    await names(gate)
    const heard = listenTo(gate)
    await put(gate, 'plain', { action: 'BLOCK', scope: { type: 'job' } })
    await put(gate, 'ask', { action: 'BLOCK', scope: { tool: 'send' } })
    expect(heard).not.toHaveBeenCalled()
    await put(gate, 'ask', { action: 'REQUIRE_APPROVAL', scope: { tool: 'send' } })
    expect(heard).toHaveBeenCalledTimes(1)
    await gate.removePolicy(admin(), { id: 'ask' })
    expect(heard).toHaveBeenCalledTimes(2)
  })

  it('listeners are called when the blocked tools of one caller change', async () => {
    const { gate } = await open(MAIL)
    await names(gate)
    await names(gate, 'human:erin')
    await put(gate, 'all', { action: 'ALLOW' })
    const heard = listenTo(gate)
    await put(gate, 'not-erin', { action: 'BLOCK', priority: 1, scope: { principal: 'human:erin' } })
    expect(heard).toHaveBeenCalledTimes(1)
    expect(await names(gate)).toEqual([])
    expect(await names(gate, 'human:erin')).toEqual(['mail__read', 'mail__send'])
  })

  it('listeners are called when a rule expires', async () => {
    const { gate } = await open(MAIL)
    const expires_at = new Date(Date.now() + 5000).toISOString()
    await put(gate, 'for-now', { action: 'ALLOW', expires_at })
    expect(await names(gate)).toEqual([])
    const heard = listenTo(gate)
    await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(1), 20_000)
    expect(await names(gate)).toEqual(['mail__read', 'mail__send'])
  })

  const isShared = storeName !== 'sqlite'
  it.runIf(isShared)(
    'listeners are called when another server changes a rule',
    { timeout: 20_000 },
    async () => {
      const { gate, another } = await open(MAIL)
      const { gate: other } = await another(MAIL)
      await names(other)
      const heard = listenTo(other)
      await put(gate, 'reads', { action: 'ALLOW', scope: { category: 'read' } })
      await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(1), 15_000)
      expect(await names(other)).toEqual(['mail__send'])
    },
  )
})
