import { afterEach, describe, expect, it, vi } from 'vitest'
import { turns } from '../../simulation/dice.ts'
import { agent, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  askMany,
  Barrier,
  claim,
  failTask,
  finish,
  HintProbe,
  held,
  hold,
  lease,
  look,
  only,
  override,
  receiptTypes,
  refusal,
  soon,
} from '../../support/steps.ts'

/**
 * Disables the periodic read of the store, so that only events can wake a claim. Returns a function that reads it
 * once.
 */
function disablePolling(): () => void {
  const polls: (() => void)[] = []
  vi.spyOn(globalThis, 'setInterval').mockImplementation((callback) => {
    polls.push(callback)
    return setTimeout(() => {}, 0)
  })
  return () => {
    for (const poll of polls) poll()
  }
}

describeGates('waiting claim', (open, storeName) => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  /** A gate whose commits are counted. */
  const openCounting = async () => {
    let count = 0
    const { gate } = await open({
      wrap: (store) =>
        override(store, {
          commit: (need, decide) => {
            count++
            return store.commit(need, decide)
          },
        }),
    })
    return { gate, commits: () => count }
  }
  const wait = (gate: Parameters<typeof claim>[0], input: object = {}, by = worker()) =>
    claim(gate, { wait_seconds: 50, ...input }, by)

  it('a waiting claim takes an available task without waiting', async () => {
    const { gate } = await open()
    const task = await ask(gate)
    expect(only(await soon(wait(gate))).task_id).toBe(task.task_id)
  })

  it('a waiting claim is woken by a create', async () => {
    disablePolling()
    const { gate } = await open()
    const waiting = wait(gate)
    expect(await claim(gate)).toEqual([])
    const task = await ask(gate)
    expect(only(await soon(waiting)).task_id).toBe(task.task_id)
  })

  it('a waiting claim is woken by a release and by an immediate retry', async () => {
    disablePolling()
    const { gate } = await open()
    const first = await hold(gate)
    const afterRelease = wait(gate)
    expect(await claim(gate)).toEqual([])
    await gate.releaseLease(worker(), held(first))
    const second = only(await soon(afterRelease))
    expect(second.task_id).toBe(first.task_id)

    const afterFailure = wait(gate)
    expect(await claim(gate)).toEqual([])
    await failTask(gate, second, { retryable: true, retry_after_seconds: 0 })
    expect(only(await soon(afterFailure))).toMatchObject({ task_id: first.task_id, attempt: 1 })
  })

  it('a waiting claim is woken when a delay or a backoff is over', async () => {
    disablePolling()
    const { gate } = await open({ realTime: true })
    const delayed = wait(gate)
    expect(await claim(gate)).toEqual([])
    await ask(gate, { delay_seconds: 1 })
    const offer = only(await soon(delayed))

    const retried = wait(gate)
    expect(await claim(gate)).toEqual([])
    await failTask(gate, offer, { retryable: true, retry_after_seconds: 1 })
    expect(only(await soon(retried))).toMatchObject({ task_id: offer.task_id, attempt: 1 })
  })

  it('a waiting claim gets a task on time that was delayed before the wait began', async () => {
    disablePolling()
    const { gate } = await open({ realTime: true })
    await ask(gate, { delay_seconds: 1 })
    expect(await soon(wait(gate))).toHaveLength(1)
  })

  it('a waiting claim commits nothing while nothing happens', async () => {
    const poll = disablePolling()
    const { gate, commits } = await openCounting()
    const waiting = ['a', 'b', 'c'].map((type) => wait(gate, { accept_types: [type] }, worker(type)))
    expect(await claim(gate)).toEqual([])
    const before = commits()
    poll()
    await turns(40)
    expect(commits()).toBe(before)
    const task = await ask(gate, { type: 'b' })
    expect(only(await soon(Promise.race(waiting))).task_id).toBe(task.task_id)
  })

  it('a task that a claim waits for is assigned by the commit that creates it', async () => {
    disablePolling()
    const { gate, commits } = await openCounting()
    // The lane exists from the first task on.
    await finish(gate, await hold(gate))
    const waiting = [wait(gate, {}, worker('a')), wait(gate, {}, worker('b'))]
    expect(await claim(gate)).toEqual([])
    const before = commits()
    const task = await ask(gate)
    expect(only(await soon(Promise.race(waiting))).task_id).toBe(task.task_id)
    await turns(40)
    expect(commits()).toBe(before + 1)
  })

  it('a create that is refused because the queue is full does not disturb a waiting claim', async () => {
    disablePolling()
    const commits = new Barrier()
    const { gate } = await open({
      settings: { max_pending_commands: 2 },
      wrap: (store) =>
        override(store, {
          commit: async (need, decide) => {
            await commits.pass()
            return store.commit(need, decide)
          },
        }),
    })
    await finish(gate, await hold(gate))
    const waiting = wait(gate, { accept_types: ['job'] })
    expect(await claim(gate)).toEqual([])
    commits.shut()
    const first = ask(gate, { type: 'other' })
    await commits.arrival()
    const others = [ask(gate, { type: 'other' }), ask(gate, { type: 'other' })]
    await turns(40)
    expect(await refusal(ask(gate))).toMatchObject({ code: 'OVERLOADED' })
    commits.open()
    await Promise.all([first, ...others])
    const task = await ask(gate)
    expect(only(await soon(waiting)).task_id).toBe(task.task_id)
  })

  it('a delayed task and a duplicate assign nothing to a waiting claim', async () => {
    disablePolling()
    const { gate } = await open()
    await finish(gate, await hold(gate, { idempotency_key: 'once' }))
    const waiting = wait(gate)
    expect(await claim(gate)).toEqual([])
    await ask(gate, { delay_seconds: 60 })
    await ask(gate, { idempotency_key: 'once' })
    await turns(40)
    const task = await ask(gate)
    expect(only(await soon(waiting)).task_id).toBe(task.task_id)
  })

  it('a waiting claim is woken when a lease becomes free under the quota', async () => {
    disablePolling()
    const { gate } = await open({ settings: { max_concurrent_leases: 1 } })
    const offer = await hold(gate)
    const task = await ask(gate)
    const waiting = wait(gate)
    expect(await claim(gate)).toEqual([])
    await finish(gate, offer)
    expect(only(await soon(waiting)).task_id).toBe(task.task_id)
  })

  it('a waiting claim returns an empty list when its time is over', async () => {
    const { gate } = await open()
    expect(await soon(wait(gate, { wait_seconds: 0.05 }))).toEqual([])
  })

  it('a waiting claim returns an empty list when its caller has disconnected', async () => {
    disablePolling()
    const { gate } = await open()
    const leaving = new AbortController()
    const input = { worker_id: 'w1', wait_seconds: 50 }
    const waiting = gate.leaseNext(worker(), input, leaving.signal)
    expect(await claim(gate)).toEqual([])
    leaving.abort()
    expect(await soon(waiting)).toEqual({ tasks: [] })
    expect(await soon(gate.leaseNext(worker(), input, AbortSignal.abort()))).toEqual({ tasks: [] })
    await ask(gate)
    expect(await claim(gate)).toHaveLength(1)
  })

  it('a waiting claim returns an empty list when the gate closes', async () => {
    disablePolling()
    const { gate } = await open()
    const waiting = [wait(gate), wait(gate, {}, worker('w2'))]
    expect(await claim(gate)).toEqual([])
    await soon(gate.close())
    expect(await soon(Promise.all(waiting))).toEqual([[], []])
  })

  it('a waiting claim keeps waiting while another takes the only task', async () => {
    disablePolling()
    const { gate } = await open()
    const answered: string[] = []
    const waiting = ['w1', 'w2', 'w3'].map((id) =>
      wait(gate, {}, worker(id)).then((tasks) => {
        answered.push(id)
        return tasks
      }),
    )
    expect(await claim(gate)).toEqual([])
    const first = await ask(gate)
    expect(only(await soon(Promise.race(waiting))).task_id).toBe(first.task_id)
    expect(await claim(gate)).toEqual([])
    expect(answered).toEqual(['w1'])
    const others = [await ask(gate), await ask(gate)].map((task) => task.task_id)
    const taken = (await soon(Promise.all(waiting.slice(1)))).map((tasks) => only(tasks).task_id)
    expect(taken.toSorted()).toEqual(others.toSorted())
  })

  it('a waiting claim gets its task while the claim before it is being served', async () => {
    disablePolling()
    const { gate } = await open()
    const waiting = [wait(gate, { accept_types: ['job'] }), wait(gate, {}, worker('w2'))]
    expect(await claim(gate)).toEqual([])
    await ask(gate)
    await ask(gate)
    expect((await soon(Promise.all(waiting))).map((tasks) => tasks.length)).toEqual([1, 1])
  })

  it('a waiting claim is never given a task that it cannot take', async () => {
    disablePolling()
    const { gate } = await open()
    const wrong = [
      wait(gate, { wait_seconds: 1, accept_types: ['other'] }),
      wait(gate, { wait_seconds: 1, capabilities: ['cpu'] }),
    ]
    const right = wait(gate, { accept_types: ['job'], capabilities: ['gpu'] })
    expect(await claim(gate)).toEqual([])
    const task = await ask(gate, { requirements: { capabilities: ['gpu'] } })
    expect(only(await soon(right)).task_id).toBe(task.task_id)
    expect(await soon(Promise.all(wrong))).toEqual([[], []])
  })

  it('a waiting claim waits only for tasks of its own tenant', async () => {
    disablePolling()
    const { gate } = await open()
    const waiting = wait(gate, { wait_seconds: 0.5 })
    expect(await claim(gate)).toEqual([])
    await ask(gate, {}, agent('alice', 'other'))
    expect(await soon(waiting)).toEqual([])
  })

  it('a waiting claim at the quota waits for a lease to become free', async () => {
    const { gate } = await open({ settings: { max_concurrent_leases: 1 } })
    const offer = await hold(gate)
    await ask(gate)
    const waiting = wait(gate)
    expect(await claim(gate)).toEqual([])
    await gate.cancelTask(agent(), { task_id: offer.task_id })
    expect(await soon(waiting)).toHaveLength(1)
  })

  it('a claim cannot wait longer than clients do', async () => {
    const { gate } = await open()
    for (const wait_seconds of [50.1, -1, Number.NaN]) {
      expect(await refusal(claim(gate, { wait_seconds }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'wait_seconds' },
      })
    }
  })

  describe('a claim that is searching when its wait ends', () => {
    const busy = async (input: Readonly<Record<string, unknown>> = { delay_seconds: 60 }) => {
      const poll = disablePolling()
      const commits = new Barrier()
      const { gate } = await open({
        wrap: (store) =>
          override(store, {
            commit: async (need, decide) => {
              await commits.pass()
              return store.commit(need, decide)
            },
          }),
      })
      const task = await ask(gate, input)
      commits.shut()
      const leaving = new AbortController()
      const waiting = gate.leaseNext(worker(), { worker_id: 'w1', wait_seconds: 50 }, leaving.signal)
      await commits.arrival()
      poll()
      return { gate, commits, leaving, waiting, task }
    }

    it('a claim whose caller has disconnected returns although it was asked to search again', async () => {
      const { commits, leaving, waiting } = await busy()
      leaving.abort()
      commits.open()
      expect(await soon(waiting)).toEqual({ tasks: [] })
    })

    it('a claim releases the tasks that it leased after its caller has disconnected', async () => {
      const { gate, commits, leaving, waiting, task } = await busy({})
      leaving.abort()
      commits.open()
      expect(await soon(waiting)).toEqual({ tasks: [] })
      expect(await receiptTypes(gate, task)).toEqual(['task.assigned', 'task.accepted', 'lease.released'])
      expect(await look(gate, task)).toMatchObject({ status: 'queued', attempt: 0, expiry_count: 0 })
    })

    it('a claim returns when the gate closes, although it was asked to search again', async () => {
      const { gate, commits, waiting } = await busy()
      const closed = gate.close()
      commits.open()
      await soon(closed)
      expect(await soon(waiting)).toEqual({ tasks: [] })
    })
  })

  it.runIf(storeName === 'postgres')('a waiting claim is woken by a create in another process', async () => {
    disablePolling()
    const probe = new HintProbe()
    const { gate, another } = await open({ wrap: probe.wrap })
    const { gate: elsewhere } = await another()
    await probe.open(elsewhere)
    const waiting = wait(gate)
    expect(await claim(gate)).toEqual([])
    const task = await ask(elsewhere)
    expect(only(await soon(waiting)).task_id).toBe(task.task_id)
    expect(await claim(elsewhere)).toEqual([])
  })

  it.runIf(storeName === 'postgres')(
    'a waiting claim wakes the next one when there are more tasks than it takes',
    async () => {
      disablePolling()
      const probe = new HintProbe()
      const { gate, another } = await open({ wrap: probe.wrap })
      const { gate: elsewhere } = await another()
      await probe.open(elsewhere)
      const waiting = ['w1', 'w2', 'w3'].map((id) => wait(gate, {}, worker(id)))
      expect(await claim(gate)).toEqual([])
      await askMany(elsewhere, 3)
      expect((await soon(Promise.all(waiting))).map((tasks) => tasks.length)).toEqual([1, 1, 1])
    },
  )

  it.runIf(storeName === 'postgres')(
    'a waiting claim is woken by any commit that notices tasks of another process',
    async () => {
      disablePolling()
      const { gate, another } = await open({ wrap: (store) => override(store, { listen: () => {} }) })
      const { gate: elsewhere } = await another()
      const waiting = wait(gate, { accept_types: ['new'] })
      expect(await claim(gate)).toEqual([])
      const task = await ask(elsewhere, { type: 'new' })
      await ask(gate, { type: 'other' })
      expect(only(await soon(waiting)).task_id).toBe(task.task_id)
    },
  )

  it.runIf(storeName === 'postgres')(
    'a waiting claim finds tasks of another process whose notification is lost',
    async () => {
      const { gate, another } = await open({ wrap: (store) => override(store, { listen: () => {} }) })
      const { gate: elsewhere } = await another()
      const waiting = wait(gate)
      expect(await claim(gate)).toEqual([])
      await ask(elsewhere, { type: 'new' })
      expect(await soon(waiting)).toHaveLength(1)
      await ask(elsewhere)
      expect(await lease(gate)).toMatchObject({ type: 'job' })
    },
  )
})
