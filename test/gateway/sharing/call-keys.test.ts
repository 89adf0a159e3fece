import { expect, it } from 'vitest'
import { describeGates } from '../../support/gates.ts'
import { held } from '../calls/stub.ts'
import { ADA, BOB, client, openGateway, until } from '../calls/support.ts'

describeGates('keys of tool calls', (open) => {
  it('a repeated key returns the existing call, both while it runs and after it has ended', async () => {
    const slow = held()
    const { gate, ended, stub, sessions } = await openGateway(open, { tools: { slow: slow.tool } })
    const asked = { upstream: 'stub', tool: 'slow', arguments: {} }
    const call = (key: string, by = ADA) => gate.callTool(by, asked, client('one'), key)
    const { task_id } = await call('mcp:one:1')
    await until(() => slow.waiting.length === 1)
    expect(await call('mcp:one:1')).toMatchObject({ task_id, is_duplicate: true })
    slow.let(1)
    expect(await ended(task_id)).toMatchObject({ status: 'succeeded' })
    expect(await call('mcp:one:1')).toMatchObject({ task_id, is_duplicate: true, status: 'succeeded' })
    await until(() => sessions.counts.calls === 0)
    expect(stub.calls).toBe(1)
    for (const other of [await call('mcp:one:2'), await call('mcp:one:1', BOB)]) {
      expect(other).toMatchObject({ is_duplicate: false })
    }
    await until(() => slow.waiting.length === 2)
    slow.let(2)
  })
})
