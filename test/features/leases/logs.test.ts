import { describe, expect, it } from 'vitest'
import { LOG_LIMITS } from '../../../src/features/leases/append-logs.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { failTask, finish, held, hold, receiptTypes, refusal } from '../../support/steps.ts'

describeGates('log of a task', (open) => {
  const lines = (...texts: string[]) => texts.map((text) => ({ text }))

  it('list_logs returns the lines of all workers in pages, oldest first', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    const { task_id } = offer
    expect(await gate.listLogs(agent(), { task_id })).toEqual({ lines: [], next_cursor: null })
    const at = new Date(clock.now).toISOString()
    expect(
      await gate.appendLogs(worker(), {
        ...held(offer),
        lines: [{ text: 'begun' }, { level: 'error', text: 'odd', context: { status: 500 } }],
      }),
    ).toEqual({ ok: true, accepted: 2, dropped: 0 })
    clock.advance(5)
    const later = new Date(clock.now).toISOString()
    await gate.appendLogs(worker(), { ...held(offer), lines: lines('over') })
    const all = [
      { at, level: 'info', text: 'begun' },
      { at, level: 'error', text: 'odd', context: { status: 500 } },
      { at: later, level: 'info', text: 'over' },
    ]
    expect(await gate.listLogs(agent(), { task_id })).toEqual({ lines: all, next_cursor: null })
    const first = await gate.listLogs(admin(), { task_id, limit: 2 })
    expect(first.lines).toEqual(all.slice(0, 2))
    const cursor = first.next_cursor ?? ''
    expect(await gate.listLogs(admin(), { task_id, limit: 2, cursor })).toEqual({
      lines: all.slice(2),
      next_cursor: null,
    })
    await finish(gate, offer)
    expect((await gate.listLogs(worker(), { task_id })).lines).toEqual(all)
  })

  it('append_logs writes no receipt and does not change the task', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const before = await receiptTypes(gate, offer)
    await gate.appendLogs(worker(), { ...held(offer), lines: lines('x') })
    expect(await receiptTypes(gate, offer)).toEqual(before)
    expect((await gate.getTask(agent(), { task_id: offer.task_id })).status).toBe('leased')
  })

  it('append_logs accepts lines only from the current lease holder', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    const add = (by = worker(), fields = held(offer)) =>
      refusal(gate.appendLogs(by, { ...fields, lines: lines('x') }))
    expect((await add(worker('w2'), held(offer, 'w2'))).code).toBe('LEASE_INVALID_OR_EXPIRED')
    expect((await refusal(gate.appendLogs(agent(), { ...held(offer), lines: lines('x') }))).code).toBe(
      'FORBIDDEN',
    )
    clock.advance(24 * 3600)
    expect(await add()).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'leased' },
    })
    expect((await gate.listLogs(agent(), { task_id: offer.task_id })).lines).toEqual([])
  })

  it('append_logs is refused once the task has failed', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await failTask(gate, offer)
    const late = await refusal(gate.appendLogs(worker(), { ...held(offer), lines: lines('x') }))
    expect(late.code).toBe('LEASE_INVALID_OR_EXPIRED')
  })

  it('list_logs is refused for other principals', async () => {
    const { gate } = await open()
    const { task_id } = await hold(gate)
    for (const by of [agent('bob'), worker('w2')]) {
      expect((await refusal(gate.listLogs(by, { task_id }))).code).toBe('FORBIDDEN')
    }
    expect((await refusal(gate.listLogs(agent('alice', 'other'), { task_id }))).code).toBe('TASK_NOT_FOUND')
  })

  it('concurrent append_logs calls on several servers keep every line once', async () => {
    const { gate, another } = await open()
    const gates = gate.isShared ? [gate, (await another()).gate] : [gate]
    const offer = await hold(gate)
    const texts = Array.from({ length: 8 }, (_, n) => `line ${n}`)
    await Promise.all(
      texts.map((text, n) =>
        gates[n % gates.length]?.appendLogs(worker(), { ...held(offer), lines: lines(text) }),
      ),
    )
    const found = (await gate.listLogs(agent(), { task_id: offer.task_id })).lines
    expect(found.map((line) => line.text).sort()).toEqual(texts)
  })

  it('the last line of a full log states that it is full, and further lines are dropped', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const large = { text: 'x'.repeat(8_192) }
    const perCall = 100
    let accepted = 0
    for (let call = 0; call < 3; call++) {
      const batch = Array.from({ length: perCall }, () => large)
      const answer = await gate.appendLogs(worker(), { ...held(offer), lines: batch })
      expect(answer.accepted + answer.dropped).toBe(perCall)
      accepted += answer.accepted
    }
    expect(accepted).toBe(LOG_LIMITS.bytes / 8_192)
    const first = await gate.listLogs(agent(), { task_id: offer.task_id, limit: 200 })
    expect(first.lines).toHaveLength(accepted + 1)
    expect(first.lines.at(-1)).toMatchObject({
      level: 'warn',
      truncated: true,
      text: expect.stringContaining('full'),
    })
  })

  describe('invalid log lines', () => {
    it.each([
      ['an empty list of lines', []],
      ['too many lines', Array.from({ length: 101 }, () => ({ text: 'x' }))],
      ['a text that is too long', [{ text: 'x'.repeat(8_193) }]],
      ['a text with a NUL character', [{ text: 'a\0b' }]],
      ['an unknown level', [{ level: 'loud', text: 'x' }]],
      ['a context that is not an object', [{ text: 'x', context: [1] }]],
    ])('append_logs refuses %s', async (_, given) => {
      const { gate } = await open()
      const offer = await hold(gate)
      const refused = await refusal(gate.appendLogs(worker(), { ...held(offer), lines: given }))
      expect(refused.code).toBe('VALIDATION_ERROR')
    })

    it('append_logs refuses a context that is too large', async () => {
      const { gate } = await open()
      const offer = await hold(gate)
      const given = [{ text: 'x', context: { a: 'x'.repeat(5_000) } }]
      const refused = await refusal(gate.appendLogs(worker(), { ...held(offer), lines: given }))
      expect(refused).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { path: 'lines.0.context' } })
    })
  })
})
