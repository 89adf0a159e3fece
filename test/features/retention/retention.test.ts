import { expect, it, vi } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, type Bench, describeGates, type Open, worker } from '../../support/gates.ts'
import { ask, claim, finish, held, hold, lease, look, only, override, refusal } from '../../support/steps.ts'
import { provenBy, verified } from '../ledger-log/ledgers.ts'
import { ArchiveInMemory } from './archive-in-memory.ts'

const DAY = 24 * 3600

async function opened(open: Open, more: Parameters<Open>[0] = {}) {
  const archive = new ArchiveInMemory()
  const retention = { receiptDays: 30, archive }
  const bench = await open({ settings: { task_retention_days: 7 }, retention, ...more })
  return { ...bench, archive, retention }
}

async function done(gate: Gate, input: object = {}) {
  const task = await ask(gate, { payload: { text: 'secret' }, ...input })
  await finish(gate, only(await claim(gate)), { result: { text: 'secret' } })
  return task
}

async function receiptsOf(gate: Gate, task_id: string, include_archived: boolean) {
  const { receipts } = await gate.listReceipts(admin(), { task_id, include_archived })
  return receipts
}

async function later({ gate, clock }: Pick<Bench, 'gate' | 'clock'>, days: number) {
  clock.advance(days * DAY)
  await gate.sweepRetention()
}

describeGates('retention', (open, storeName) => {
  it('removes the contents of an ended task after its retention, and keeps its metadata', async () => {
    const bench = await opened(open)
    const task = await done(bench.gate)
    await later(bench, 6)
    expect(await look(bench.gate, task)).toMatchObject({ payload: { text: 'secret' }, retention_days: 7 })
    await later(bench, 2)
    const cleared = await look(bench.gate, task)
    expect(cleared).toMatchObject({ task_id: task.task_id, status: 'succeeded', retention_days: 7 })
    expect(JSON.stringify(cleared)).not.toContain('secret')
    expect(await bench.gate.getRetention(admin(), {})).toMatchObject({ cleared_tasks: 1, archived_tasks: 0 })
  })

  it('takes the retention of the task, else of its type, else of the server', async () => {
    const bench = await opened(open)
    await bench.gate.registerTaskType(admin(), { type: 'typed', retention_days: 3 })
    const days = async (input: Readonly<Record<string, unknown>>) =>
      (await look(bench.gate, await ask(bench.gate, input))).retention_days
    expect(await days({ type: 'typed', retention_days: 5 })).toBe(5)
    expect(await days({ type: 'typed' })).toBe(3)
    expect(await days({})).toBe(7)
    expect(await refusal(ask(bench.gate, { retention_days: 0 }))).toMatchObject({ code: 'VALIDATION_ERROR' })
  })

  it('archives a task with its receipts, which an explicit query returns as before', async () => {
    const bench = await opened(open)
    const { gate } = bench
    const task = await done(gate)
    await gate.listInbox(agent(), {})
    const before = await receiptsOf(gate, task.task_id, false)
    const first = before[0]
    if (first === undefined) throw new Error('the task has no receipts')
    const terminator = await gate.checkTerminator(agent(), { receipt_id: first.receipt_id })
    const alone = await gate.getReceipt(agent(), { receipt_id: first.receipt_id })
    expect(alone.children).not.toEqual([])
    const billed = async () => {
      await gate.usage.flush()
      return (await gate.getUsage(admin(), {})).receipt_bytes
    }
    const { tenant } = await bench.store.tenant('default')
    const counted = async () => (await bench.store.reads.counters(tenant)).receipt_bytes
    expect(await billed()).toBe(await counted())
    await later(bench, 31)
    await later(bench, 1)
    expect(bench.archive.files.size).toBe(1)
    expect([await billed(), await counted()]).toEqual([0, 0])
    expect(await receiptsOf(gate, task.task_id, false)).toEqual([])
    expect(await receiptsOf(gate, task.task_id, true)).toEqual(before)
    expect(await gate.getReceipt(agent(), { receipt_id: first.receipt_id })).toEqual(alone)
    expect(await gate.checkTerminator(agent(), { receipt_id: first.receipt_id })).toEqual(terminator)
    expect(await refusal(look(gate, task))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(await refusal(gate.getReceipt(agent('bob'), { receipt_id: first.receipt_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    const asLedger = { task_id: task.task_id, status: 'success' }
    expect(await gate.listReceiptsLedger(agent(), asLedger)).toMatchObject({ receipts: [] })
    const archived = await gate.listReceiptsLedger(agent(), { ...asLedger, include_archived: true })
    expect(archived.receipts).toMatchObject([{ task_id: task.task_id, phase: 'complete', status: 'success' }])
    const own = await gate.listReceipts(agent(), { include_archived: true, order: 'newest', limit: 2 })
    expect(own.receipts).toEqual(
      before
        .filter(({ to }) => to.id === 'alice')
        .slice(-2)
        .reverse(),
    )
    expect(await gate.bootstrap(agent(), {})).toMatchObject({
      attention: { inbox_receipts: [], waiting_results: [] },
    })
    expect((await gate.listInbox(agent(), { state: 'all' })).items).toEqual([])
  })

  it('never archives open tasks and what waits for an approval', async () => {
    const bench = await opened(open)
    const { gate } = bench
    const waiting = await hold(gate)
    const request = { title: 'Send it?' }
    await gate.ask(worker(), { ...held(waiting), kind: 'approval', request })
    const { task_id } = await done(gate)
    const queued = await ask(gate)
    await later(bench, 400)
    await later(bench, 1)
    expect(await receiptsOf(gate, queued.task_id, false)).toHaveLength(1)
    expect((await receiptsOf(gate, waiting.task_id, false)).length).toBeGreaterThan(1)
    expect(await receiptsOf(gate, task_id, false)).toEqual([])
    expect((await gate.listOpenObligations(agent(), {})).open_obligations).toHaveLength(2)
    expect(await look(gate, queued)).toMatchObject({ status: 'queued' })
    expect(await look(gate, waiting)).toMatchObject({ status: 'pending_approval' })
    expect((await gate.listApprovals(admin(), {})).approvals).toHaveLength(1)
  })

  it('proofs stay the same when receipts are archived, and the whole ledger still verifies', async () => {
    const bench = await opened(open)
    const { gate } = bench
    const first = await done(gate)
    // Its receipts stay between archived ones.
    const waiting = await hold(gate)
    const second = await done(gate)
    await gate.ask(worker(), { ...held(waiting), kind: 'approval', request: { title: 'Send it?' } })
    const early = await provenBy(gate, first.receipt_id)
    await later(bench, 31)
    await later(bench, 1)
    expect(await receiptsOf(gate, second.task_id, false)).toEqual([])
    const { proof } = await provenBy(gate, first.receipt_id)
    expect(proof).toMatchObject({ leaf: early.proof.leaf, salt: early.proof.salt, body: early.proof.body })
    await provenBy(gate, second.receipt_id)
    const { receipts } = await verified(gate)
    expect(await verified(gate)).toMatchObject({ signed: receipts, checkpoints: 1 })
    expect(await verified(gate)).not.toHaveProperty('problem')
    // One file is changed, and keeps its name.
    const [[file, content] = ['', Buffer.alloc(0)]] = bench.archive.files
    bench.archive.files.set(file, content.subarray(0, -1))
    await gate.close()
    const other = await bench.another({ retention: bench.retention })
    await expect(verified(other.gate)).resolves.toMatchObject({ problem: { seq: 1 } })
  })

  it('never archives a success that does not say where its result is', async () => {
    const bench = await opened(open)
    const { gate } = bench
    await gate.complete(worker(), { ...held(await hold(gate)), result: { n: 1 } })
    const before = await gate.listOpenObligations(agent(), {})
    expect(before.open_obligations).toHaveLength(1)
    await later(bench, 400)
    await later(bench, 2)
    expect((await gate.listOpenObligations(agent(), {})).open_obligations).toEqual(before.open_obligations)
    expect(bench.archive.files.size).toBe(0)
  })

  it('gives tasks that ended before retention was configured a time', async () => {
    const { another, ...first } = await open()
    const task = await done(first.gate)
    expect(await look(first.gate, task)).toMatchObject({ retention_days: null })
    first.clock.advance(40 * DAY)
    const archive = new ArchiveInMemory()
    await first.gate.close()
    const second = await another({ settings: { task_retention_days: 7 }, retention: { archive } })
    await second.gate.sweepRetention()
    expect(await second.gate.getRetention(admin(), {})).toMatchObject({ cleared_tasks: 1, archived_tasks: 1 })
  })

  it('changes nothing in a dry run and while it is paused', async () => {
    const bench = await opened(open)
    const { gate, clock } = bench
    const task = await done(gate)
    clock.advance(8 * DAY)
    const dry = await gate.controlRetention(admin(), { action: 'run', dry_run: true })
    expect(dry).toMatchObject({ state: 'idle', due: { clear: 1, archive: 0 }, cleared_tasks: 0 })
    expect(await gate.controlRetention(admin(), { action: 'pause' })).toMatchObject({ state: 'paused' })
    await later(bench, 60)
    expect(await look(gate, task)).toMatchObject({ payload: { text: 'secret' } })
    await gate.controlRetention(admin(), { action: 'resume' })
    await later(bench, 0)
    expect(await gate.getRetention(admin(), {})).toMatchObject({ state: 'idle', archived_tasks: 1 })
  })

  it('loses nothing if the server stops after the file is written, and leaves no second file', async () => {
    let isBroken = true
    const bench = await opened(open, {
      wrap: (store) =>
        override(store, {
          retention: {
            ...store.retention,
            archive: (...given) =>
              isBroken ? Promise.reject(new Error('killed')) : store.retention.archive(...given),
          },
        }),
    })
    const { gate, archive } = bench
    const task = await done(gate)
    const before = await receiptsOf(gate, task.task_id, false)
    await later(bench, 40).catch(() => undefined)
    expect(archive.files.size).toBe(1)
    expect(await receiptsOf(gate, task.task_id, true)).toEqual(before)
    isBroken = false
    // Another receipt makes another file of it.
    const last = before.at(-1)
    await gate.ackReceipt(agent(), { receipt_id: last?.receipt_id })
    const all = await receiptsOf(gate, task.task_id, false)
    await later(bench, 31)
    expect(archive.files.size).toBe(1)
    expect(await receiptsOf(gate, task.task_id, false)).toEqual([])
    expect(await receiptsOf(gate, task.task_id, true)).toEqual(all)
  })

  it.runIf(storeName === 'postgres')('archives each task once with two servers', async () => {
    const bench = await opened(open)
    const other = await bench.another({ settings: { task_retention_days: 7 }, retention: bench.retention })
    const tasks = []
    for (let n = 0; n < 30; n++) tasks.push(await done(bench.gate))
    bench.clock.advance(40 * DAY)
    await Promise.all([bench.gate.sweepRetention(), other.gate.sweepRetention()])
    await later(bench, 1)
    expect(await bench.gate.getRetention(admin(), {})).toMatchObject({
      archived_tasks: 30,
      due: { archive: 0 },
    })
    const { receipts } = await bench.gate.listReceipts(agent(), { include_archived: true, limit: 200 })
    expect(new Set(receipts.map(({ seq }) => seq)).size).toBe(receipts.length)
    expect(new Set(receipts.map(({ task_id }) => task_id)).size).toBe(30)
  })

  it('archives the oldest tasks of a tenant whose quota is nearly used up', async () => {
    const settings = { task_retention_days: 7, max_terminal_tasks: 3 }
    const { gate, archive } = await opened(open, { settings })
    for (let n = 0; n < 3; n++) await done(gate)
    expect(await refusal(ask(gate))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await vi.waitFor(async () => expect(await ask(gate)).toMatchObject({ status: 'queued' }), 20_000)
    await gate.sweepRetention()
    expect(archive.files.size).toBeGreaterThan(0)
    expect(await gate.listOpenObligations(agent(), {})).toMatchObject({ open_obligations: [{}] })
  })

  it('erases archived receipts of a principal', async () => {
    const bench = await opened(open)
    const { gate, archive } = bench
    const task = await done(gate, { summary: 'of alice' })
    await later(bench, 40)
    const [file] = archive.files.keys()
    await gate.erasePrincipal(admin(), { kind: 'agent', id: 'alice' })
    await gate.getErasure(admin(), { kind: 'agent', id: 'alice', wait_seconds: 50 })
    expect(archive.files.size).toBe(1)
    expect([...archive.files.keys()]).not.toContain(file)
    const receipts = await receiptsOf(gate, task.task_id, true)
    expect(receipts.length).toBeGreaterThan(2)
    for (const { hash, body } of receipts) {
      expect(hash).toBeNull()
      expect(body).toMatchObject({ commitment: expect.any(String) })
    }
  })

  it('names a file of the archive that is missing or damaged', async () => {
    const bench = await opened(open)
    const { gate, archive } = bench
    const task = await done(gate)
    await later(bench, 40)
    const [file = '', content = Buffer.alloc(0)] = [...archive.files][0] ?? []
    const read = async (bytes: Buffer | undefined) => {
      if (bytes === undefined) archive.files.delete(file)
      else archive.files.set(file, bytes)
      return refusal(receiptsOf(gate, task.task_id, true))
    }
    const damaged = { code: 'ARCHIVE_UNAVAILABLE', details: { file } }
    expect(await read(content.subarray(0, 100))).toMatchObject(damaged)
    expect(await read(undefined)).toMatchObject(damaged)
  })

  it('keeps the newest progress reports and the last one of each lease', async () => {
    const { gate, store } = await open({ settings: { progress_receipts: false } })
    const report = async (offer: Parameters<typeof held>[0], count: number) => {
      for (let n = 1; n <= count; n++) {
        await gate.reportProgress(worker(), { ...held(offer), progress: { percent: n / 10 } })
      }
    }
    const first = await hold(gate)
    await report(first, 5)
    await gate.releaseLease(worker(), held(first))
    const second = await lease(gate)
    await report(second, 295)
    const { tenant } = await store.tenant('default')
    const kept = await store.reads.progress(tenant, first.task_id, 0, 1000)
    expect(kept.map(({ n }) => n)).toEqual([5, ...Array.from({ length: 250 }, (_, n) => 51 + n)])
  })
})
