import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, test } from 'vitest'
import { Fault } from '../../../src/core/errors.ts'
import { type Gate, openGate } from '../../../src/features/gate.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { admin, describeGates } from '../../support/gates.ts'
import { askApproval, pending, person } from '../../support/questions.ts'
import { askMany, claim, finish, lease, look, receiptsOf, refusal } from '../../support/steps.ts'

const ROUNDS = 500

/** The state that a decision returns, or the earlier decision. */
async function outcomeOf(decision: Promise<{ readonly state: string }>): Promise<string> {
  return decision.then(
    ({ state }) => state,
    (error: unknown) => {
      if (error instanceof Fault && error.code === 'ALREADY_DECIDED') return 'late'
      throw error
    },
  )
}

describeGates('concurrent decisions', (open, storeName) => {
  it(`only one of two concurrent decisions succeeds, in ${ROUNDS} rounds`, { timeout: 120_000 }, async () => {
    const { gate, another, errors } = await open()
    // A SQLite file has only one process; PostgreSQL has a second one.
    const there = storeName === 'postgres' ? (await another()).gate : gate
    const ids = await askMany(gate, ROUNDS)
    const places = [gate, there]
    for (let taken = 0; taken < ROUNDS; ) {
      const offers = await claim(gate, { max_tasks: 100 })
      await Promise.all(offers.map((offer) => askApproval(gate, offer)))
      taken += offers.length
    }
    const counts: Record<string, number> = { approved: 0, denied: 0 }
    for (let first = 0; first < ROUNDS; first += 25) {
      await Promise.all(
        ids.slice(first, first + 25).map(async (task_id, i) => {
          const [yes = gate, no = gate] = i % 4 < 2 ? places : [...places].reverse()
          const decisions = [
            () => outcomeOf(yes.approve(person(), { task_id })),
            () => outcomeOf(no.deny(admin(), { task_id, reason: 'no' })),
          ]
          if (i % 2 === 1) decisions.reverse()
          const outcomes = await Promise.all(decisions.map((decide) => decide()))
          expect([...outcomes].sort()).toEqual([expect.stringMatching(/^(approved|denied)$/), 'late'])
          const state = outcomes.find((outcome) => outcome !== 'late') ?? ''
          counts[state] = (counts[state] ?? 0) + 1
          const view = await gate.getApproval(admin(), { task_id })
          expect(view).toMatchObject({
            state,
            task: { status: state === 'approved' ? 'queued' : 'canceled' },
          })
          const receipts = await receiptsOf(gate, { task_id })
          const answers = receipts.filter(({ receipt_type }) => receipt_type === 'question.answered')
          expect(answers).toMatchObject([{ body: { decision: state } }])
        }),
      )
    }
    expect(counts).toEqual({ approved: expect.any(Number), denied: ROUNDS - (counts.approved ?? 0) })
    expect((await gate.listApprovals(person())).approvals).toEqual([])
    expect(errors).toEqual([])
  })

  it('a decision that races with the expiry is made once', async () => {
    const { gate, clock } = await open()
    const ids: string[] = []
    for (let i = 0; i < 20; i++) ids.push((await pending(gate, {}, { expires_in_seconds: 60 })).task_id)
    clock.advance(60)
    const [swept, ...outcomes] = await Promise.all([
      gate.sweep(),
      ...ids.map((task_id) => refusal(gate.approve(person(), { task_id }))),
    ])
    expect(swept).toBeLessThanOrEqual(ids.length)
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ code: 'ALREADY_DECIDED', details: { state: 'expired' } })
    }
    for (const task_id of ids) {
      expect(await look(gate, { task_id })).toMatchObject({ status: 'canceled' })
      const receipts = await receiptsOf(gate, { task_id })
      expect(receipts.filter(({ receipt_type }) => receipt_type === 'question.answered')).toHaveLength(1)
    }
  })
})

test('an approval survives a restart of the server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const openAgain = async (): Promise<Gate> =>
    openGate({ store: await openSqliteStore({ path: join(folder, 'gate.db') }), sweeping: false })
  let gate = await openAgain()
  const { task_id, offer } = await pending(gate, { payload: { a: 1 } })
  const asked = await look(gate, { task_id })
  await gate.close()

  gate = await openAgain()
  expect(await look(gate, { task_id })).toEqual(asked)
  expect((await gate.listApprovals(person())).approvals).toMatchObject([{ task_id, state: 'open' }])
  // A worker that missed the response asks again.
  expect(await askApproval(gate, offer)).toMatchObject({ n: 1, status: 'pending_approval' })
  const decided = await gate.approve(person(), { task_id, payload: { a: 2 } })
  await gate.close()

  gate = await openAgain()
  expect(await gate.approve(person(), { task_id, payload: { a: 2 } })).toEqual({
    ...decided,
    is_duplicate: true,
  })
  expect(await refusal(gate.deny(admin(), { task_id, reason: 'no' }))).toMatchObject({
    code: 'ALREADY_DECIDED',
  })
  const again = await lease(gate)
  expect(again).toMatchObject({ task_id, payload: { a: 2 }, answers: [{ state: 'approved' }] })
  await finish(gate, again)
  await gate.close()
})
