import { expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { Archive } from '../../src/features/retention/archive.ts'
import { auditLedger } from '../../src/receiptgate/audit.ts'
import { type ExportedReceipt, exportReceipts } from '../../src/receiptgate/export.ts'
import { rebuildLedger } from '../../src/receiptgate/rebuild.ts'
import { ArchiveInMemory } from '../features/retention/archive-in-memory.ts'
import { admin, agent, type Bench, describeGates, worker } from '../support/gates.ts'
import { ARTIFACTS, ask, finish, held, hold, lease } from '../support/steps.ts'
import { runDecidedLifecycles } from './decided-lifecycles.ts'
import { runLifecycles } from './lifecycles.ts'

const TARGET = { profile: '1.0', tenantId: 'default', forwardsAssigned: false } as const
const SETTINGS = { escalation_enabled: true }

async function exported({ store }: Bench, files = new ArchiveInMemory()): Promise<ExportedReceipt[]> {
  const archive = new Archive(new Engine({ store }), files)
  const lines: ExportedReceipt[] = []
  for await (const line of exportReceipts({ store, archive }, await store.tenant('default'), TARGET)) {
    lines.push(line)
  }
  return lines
}

/** The lines of a file. */
async function* textsOf(lines: readonly object[]): AsyncGenerator<string> {
  for (const line of lines) yield JSON.stringify(line)
}

function rebuild({ store }: Bench, lines: readonly object[]) {
  const engine = new Engine({ store })
  return rebuildLedger(textsOf(lines), { store, submit: (command) => engine.submit(command) })
}

/** The same, with a commit for each receipt, so that every state in between is stored. */
function rebuildOneByOne({ store }: Bench, lines: readonly object[]) {
  const engine = new Engine({ store })
  let last: Promise<unknown> = Promise.resolve()
  return rebuildLedger(textsOf(lines), {
    store,
    submit: (command) => {
      last = last.then(() => engine.submit(command))
      return last
    },
  })
}

/** Everything that a server shows of its tasks, obligations and inboxes. */
async function shown({ gate, store }: Bench) {
  const { tenant } = await store.tenant('default')
  const lines = await store.reads.scan(tenant, { by: 'all' }, Number.MAX_SAFE_INTEGER, 1000)
  const tasks = lines.map(({ task_id }) => gate.peekTask(admin(), { task_id }))
  const { open_obligations } = await gate.listOpenObligations(agent(), { limit: 200 })
  const inbox = await gate.listInbox(agent(), { state: 'all', limit: 200 })
  const ids = inbox.items.map(({ receipt_id }) => receipt_id)
  return { tasks: await Promise.all(tasks), open_obligations, ids }
}

async function leavesOf({ store }: Bench) {
  const tenant = await store.tenant('default')
  const runs = await store.ledgerLog.leaves({ ...tenant, name: 'default' }, 0, 10_000)
  return Buffer.concat(runs.map(({ hashes }) => hashes)).toString('hex')
}

describeGates('a rebuilt ledger', (open) => {
  it('has the receipts, tasks, obligations and inboxes of every kind of lifecycle', async () => {
    const before = await open({ settings: SETTINGS })
    await runLifecycles(before)
    await runDecidedLifecycles(before)
    const lines = await exported(before)
    const after = await open({ settings: SETTINGS })
    after.clock.now = before.clock.now
    const { tenant, receipts, canceled } = await rebuildOneByOne(after, lines)
    expect({ receipts, canceled }).toEqual({ receipts: lines.length, canceled: [] })

    expect(await exported(after)).toEqual(lines)
    expect(await leavesOf(after)).toBe(await leavesOf(before))
    expect(await shown(after)).toEqual(await shown(before))
    expect(await auditLedger({ store: after.store, tenant })).toMatchObject({ differences: [] })
    expect(after.errors).toEqual([])
  })

  it('goes on: leases are valid, tasks are claimed in their order, and questions are answered', async () => {
    const before = await open()
    const leased = await hold(before.gate)
    const asking = await hold(before.gate)
    const request = { message: 'Which one?' }
    const { n } = await before.gate.ask(worker(), { ...held(asking), kind: 'input', request })
    const created = [await ask(before.gate), await ask(before.gate, { idempotency_key: 'once' })]

    const after = await open()
    after.clock.now = before.clock.now
    await rebuild(after, await exported(before))
    const { gate } = after
    await finish(gate, leased)
    for (const { task_id } of created) expect(await lease(gate)).toMatchObject({ task_id })
    expect(await ask(gate, { idempotency_key: 'once' })).toMatchObject({ is_duplicate: true })
    await gate.answerQuestion(agent(), { task_id: asking.task_id, n, content: 'the second' })
    const { answers } = await lease(gate)
    expect(answers).toMatchObject([{ n, answer: { content: 'the second' } }])
  })

  it('cancels open tasks whose input is unknown, and says so', async () => {
    const before = await open()
    const done = await hold(before.gate)
    await finish(before.gate, done, { result: { text: 'x'.repeat(70_000) }, artifacts: ARTIFACTS })
    const waiting = await ask(before.gate)
    const lines = (await exported(before)).map(({ receipt }) => ({ receipt }))
    const after = await open()
    const rebuilt = await rebuild(after, lines)
    expect(rebuilt).toMatchObject({
      ...{ canceled: [waiting.task_id], without_input: 1, without_result: 1, without_question: 0 },
      tasks: { succeeded: 1, canceled: 1, queued: 0 },
    })
    const { tenant } = rebuilt
    expect(await auditLedger({ store: after.store, tenant })).toMatchObject({ differences: [] })
    // A repetition finds everything in place.
    expect(await rebuild(after, lines)).toMatchObject({ receipts: lines.length, canceled: [] })
  })

  it('contains archived and erased receipts, with the same leaves', async () => {
    const files = new ArchiveInMemory()
    const before = await open({
      settings: { task_retention_days: 1 },
      retention: { receiptDays: 1, archive: files },
    })
    await finish(before.gate, await hold(before.gate))
    before.clock.advance(3 * 24 * 3600)
    await before.gate.sweepRetention()
    const erased = { kind: 'agent', id: 'erased' }
    const { task_id } = await ask(before.gate, {}, agent('erased'))
    await before.gate.erasePrincipal(admin(), erased)
    await before.gate.getErasure(admin(), { ...erased, wait_seconds: 50 })
    await ask(before.gate)
    const lines = await exported(before, files)
    expect(lines.map(({ receipt }) => receipt.seq)).toEqual(lines.map((_, i) => i + 1))
    const after = await open()
    const about = lines.filter(({ receipt }) => receipt.task_id === task_id)
    expect(about.map(({ receipt, salt }) => [receipt.hash, salt])).toContainEqual([null, null])
    const rebuilt = await rebuild(after, lines)
    expect(rebuilt).toMatchObject({ tasks: { succeeded: 1, canceled: 1, queued: 1 }, canceled: [] })
    expect(await leavesOf(after)).toHaveLength(64 * lines.length)
    expect((await exported(after)).map(({ receipt, salt }) => [receipt, salt])).toEqual(
      lines.map(({ receipt, salt }) => [receipt, salt]),
    )
  })

  it('refuses changed, missing and foreign receipts', async () => {
    const before = await open()
    await finish(before.gate, await hold(before.gate))
    const lines = await exported(before)
    const [first, second] = lines
    if (first === undefined || second === undefined) throw new Error('there are receipts')
    const changed = { ...second, receipt: { ...second.receipt, body: {} } }
    await expect(rebuild(await open(), [first, changed])).rejects.toThrow(/Line 2: receipt .* was changed/)
    await expect(rebuild(await open(), [first, ...lines.slice(2)])).rejects.toThrow('receipt 2 is missing')
    await expect(rebuild(await open(), [{}])).rejects.toThrow('Line 1 is not a line')
    await expect(rebuild(await open(), [])).rejects.toThrow('contains no receipt')
    const other = await open()
    await ask(other.gate)
    await expect(rebuild(other, lines)).rejects.toThrow('already has another ledger')
  })
})
