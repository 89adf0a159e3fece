import { describe, expect, it } from 'vitest'
import type { Changes, Store } from '../../src/store/store.ts'
import { StoreError } from '../../src/store/store.ts'
import { turns } from '../simulation/dice.ts'
import { agent, describeGates, worker } from '../support/gates.ts'
import {
  ask,
  askMany,
  Barrier,
  claim,
  finish,
  held,
  lease,
  openTasks,
  override,
  receiptTypes,
  refusal,
  soon,
  statusOf,
} from '../support/steps.ts'

type Commit = Store['commit']

/** A store whose commits go through a function that may change them. */
const committing = (commit: (inner: Commit) => Commit) => (store: Store) =>
  override(store, { commit: commit(store.commit.bind(store)) })

/** Rejects commits, before or after they are made, while a reason is set. */
class Outage {
  reason: StoreError['reason'] | undefined
  isCommitted = false

  readonly wrap = committing((inner) => async (need, decide) => {
    const { reason } = this
    if (reason === undefined) return inner(need, decide)
    if (this.isCommitted) await inner(need, decide)
    throw new StoreError(reason, new Error('secret detail of the database'))
  })
}

const isPoison = (changes: Changes) => changes.specs.some((spec) => spec.type === 'poison')

describeGates('the commit queue', (open, storeName) => {
  it('the commit queue refuses commands beyond its limit immediately and answers the others', async () => {
    const commits = new Barrier()
    const { gate } = await open({
      settings: { max_pending_commands: 10 },
      wrap: committing((inner) => async (need, decide) => {
        await commits.pass()
        return inner(need, decide)
      }),
    })
    await ask(gate)
    commits.shut()
    const inFlight = ask(gate)
    await commits.arrival()
    const waiting = Array.from({ length: 10 }, () => ask(gate))
    for (let n = 0; n < 3; n++) {
      expect(await soon(refusal(ask(gate)))).toMatchObject({
        code: 'OVERLOADED',
        retryable: true,
        details: { waiting_commands: 10 },
      })
    }
    commits.open()
    expect(new Set((await Promise.all([inFlight, ...waiting])).map((task) => task.task_id)).size).toBe(11)
    await ask(gate)
    expect(await openTasks(gate)).toHaveLength(13)
  })

  it('a bug in one command fails that command only, and its details are not exposed', async () => {
    let victim = ''
    const { gate, errors } = await open({
      wrap: committing(
        (inner) => (need, decide) =>
          inner(need, (loaded) =>
            decide({
              ...loaded,
              tasks: loaded.tasks.map((task) =>
                task.task_id === victim ? { ...task, lease: undefined as never } : task,
              ),
            }),
          ),
      ),
    })
    await askMany(gate, 2)
    const [one, two] = await claim(gate, { max_tasks: 2 })
    if (!one || !two) return expect.unreachable()
    victim = one.task_id
    const [renewal, renewed, created] = await Promise.all([
      refusal(gate.renewLease(worker(), held(one))),
      gate.renewLease(worker(), held(two)),
      ask(gate),
    ])
    expect(renewal).toMatchObject({ code: 'INTERNAL_ERROR', retryable: false })
    expect(JSON.stringify(renewal)).not.toMatch(/TypeError|undefined|at .*\.ts/)
    expect(renewed).toMatchObject({ ok: true })
    expect(created).toMatchObject({ status: 'queued' })
    expect(errors).toEqual([expect.any(TypeError)])
    victim = ''
    expect(await gate.renewLease(worker(), held(one))).toMatchObject({ renewals_left: 9 })
  })

  it.each([
    ['the database refuses', () => new StoreError('refused', new Error('bad value'))],
    ['fails for an unknown reason', () => new Error('a surprise')],
  ])('other commands of a batch succeed when one is a command that %s', async (_, cause) => {
    const { gate, errors } = await open({
      wrap: committing(
        (inner) => (need, decide) =>
          inner(need, (loaded) => {
            const decided = decide(loaded)
            if ('specs' in decided && isPoison(decided)) throw cause()
            return decided
          }),
      ),
    })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => {
        const created = ask(gate, { type: n % 20 === 7 ? 'poison' : 'job' })
        return n % 20 === 7 ? refusal(created) : created
      }),
    )
    expect(answers.filter((answer) => 'code' in answer)).toMatchObject(
      Array(3).fill({ code: 'INTERNAL_ERROR' }),
    )
    expect(errors).toHaveLength(3)
    const ids = answers.flatMap((answer) => ('task_id' in answer ? [answer.task_id] : []))
    expect(await openTasks(gate)).toEqual(ids)
    const { receipts } = await gate.listReceipts(agent(), { limit: 200 })
    expect(receipts.map((receipt) => receipt.seq)).toEqual(Array.from({ length: 47 }, (_, n) => n + 1))
    expect(await claim(gate, { max_tasks: 100 })).toHaveLength(47)
  })

  it('a broken connection is reported as OUTCOME_UNKNOWN, and repeating the request is safe', async () => {
    const outage = new Outage()
    const { gate, errors } = await open({ wrap: outage.wrap })
    for (const isCommitted of [true, false]) {
      const input = { idempotency_key: `k${isCommitted}`, type: `t${isCommitted}` }
      Object.assign(outage, { reason: 'unknown', isCommitted })
      const unknown = await refusal(ask(gate, input))
      expect(unknown).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: true })
      expect(JSON.stringify(unknown)).not.toContain('secret')
      outage.reason = undefined
      const task = await ask(gate, input)
      expect(task.is_duplicate).toBe(isCommitted)
      expect(await receiptTypes(gate, task)).toEqual(['task.assigned'])
    }
    expect(errors).toHaveLength(2)
    const offer = await lease(gate)
    Object.assign(outage, { reason: 'unknown', isCommitted: true })
    expect(await refusal(finish(gate, offer))).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    outage.reason = undefined
    expect(await finish(gate, offer)).toMatchObject({ ok: true, obligation_open: false })
    expect(await receiptTypes(gate, offer)).toHaveLength(4)
  })

  it('reads and writes report DATABASE_UNAVAILABLE during an outage and work again afterwards', async () => {
    const outage = new Outage()
    const away = () => Promise.reject(new StoreError('unavailable', new Error('secret detail')))
    let isAway = false
    const { gate } = await open({
      wrap: (store) => {
        const reads = new Proxy(store.reads, {
          get: (target, name) => (isAway ? away : Reflect.get(target, name)),
        })
        return override(outage.wrap(store), { reads })
      },
    })
    const task = await ask(gate)
    outage.reason = 'unavailable'
    isAway = true
    const { task_id, receipt_id } = task
    const calls = [
      ask(gate),
      claim(gate),
      gate.cancelTask(agent(), { task_id }),
      gate.getTask(agent(), { task_id }),
      gate.waitForTask(agent(), { task_id }),
      gate.listTasks(agent()),
      gate.listReceipts(agent()),
      gate.getReceipt(agent(), { receipt_id }),
      gate.checkTerminator(agent(), { receipt_id }),
      gate.listReceiptsLedger(agent(), { task_id }),
      gate.listOpenObligations(agent()),
      gate.bootstrap(agent()),
    ]
    for (const answer of await Promise.all(calls.map((call) => soon(refusal(call))))) {
      expect(answer).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
      expect(JSON.stringify(answer)).not.toContain('secret')
    }
    outage.reason = undefined
    isAway = false
    expect(await statusOf(gate, task)).toBe('queued')
    expect(await openTasks(gate)).toEqual([task_id])
  })

  it('the commit queue continues after a bug that fails a whole batch', async () => {
    let isBroken = false
    const { gate, errors } = await open({
      wrap: committing((inner) => async (need, decide) => {
        const committed = await inner(need, decide)
        return isBroken ? (undefined as never) : committed
      }),
    })
    await ask(gate)
    // The first claim reads the drain orders first, and would miss the batch.
    await claim(gate, { accept_types: ['nothing'] })
    isBroken = true
    const answers = await soon(Promise.all([refusal(ask(gate)), refusal(claim(gate))]))
    for (const answer of answers) expect(answer).toMatchObject({ code: 'INTERNAL_ERROR' })
    isBroken = false
    expect(await soon(ask(gate))).toMatchObject({ status: 'queued' })
    expect(errors).toEqual([expect.any(TypeError)])
  })

  it('commands in progress are committed when the gate closes', async () => {
    const commits = new Barrier()
    const { gate } = await open({
      wrap: committing((inner) => async (need, decide) => {
        await commits.pass()
        return inner(need, decide)
      }),
    })
    await ask(gate)
    commits.shut()
    const created = [ask(gate), ask(gate)]
    await commits.arrival()
    const closed = gate.close()
    commits.open()
    expect(await soon(Promise.all(created))).toMatchObject([{ status: 'queued' }, { status: 'queued' }])
    await soon(closed)
  })

  describe.runIf(storeName === 'postgres')('with another server', () => {
    /** A gate that has noticed that another server writes to its tenant. */
    async function contended(wrap: (store: Store) => Store) {
      const { gate, another } = await open({ wrap })
      const { gate: elsewhere } = await another()
      await ask(gate)
      await ask(elsewhere)
      await ask(gate)
      return { gate, elsewhere }
    }

    it('commands that arrive while a batch waits for its tenant are committed with it', async () => {
      const commits = new Barrier()
      let count = 0
      const { gate } = await contended(
        committing((inner) => async (need, decide) => {
          count++
          await commits.pass()
          return inner(need, decide)
        }),
      )
      commits.shut()
      count = 0
      const first = ask(gate)
      await commits.arrival()
      const later = askMany(gate, 5)
      await turns(40)
      commits.open()
      await Promise.all([first, later])
      expect(count).toBe(1)
    })

    it('commands of a tenant that was not waited for are left to the next batch', async () => {
      const commits = new Barrier()
      const needs: (readonly number[])[] = []
      const { gate } = await contended(
        committing((inner) => async (need, decide) => {
          needs.push(need.tenants)
          await commits.pass()
          return inner(need, decide)
        }),
      )
      const stranger = { ...agent('alice'), tenant: 'other' }
      await ask(gate, {}, stranger)
      await ask(gate)
      commits.shut()
      needs.length = 0
      const first = ask(gate)
      await commits.arrival()
      const later = ask(gate, {}, stranger)
      await turns(40)
      commits.open()
      await Promise.all([first, later])
      expect(needs.map((tenants) => tenants.length)).toEqual([1, 1])
      expect(needs[0]).not.toEqual(needs[1])
    })

    it('a batch that is repeated on a new connection loads everything again', async () => {
      let isLost = false
      const { gate, elsewhere } = await contended(
        committing((inner) => async (need, decide) => {
          if (isLost) {
            isLost = false
            const cut = inner(need, (loaded) => {
              const decided = decide(loaded)
              if (loaded.looks > 1) throw new StoreError('unavailable', 'the connection was lost')
              return decided
            })
            await expect(cut).rejects.toThrow('lost')
          }
          return inner(need, decide)
        }),
      )
      const offer = await lease(gate)
      await ask(elsewhere)
      await ask(gate)
      isLost = true
      expect(await finish(gate, offer)).toMatchObject({ ok: true })
      expect(isLost).toBe(false)
    })
  })
})
