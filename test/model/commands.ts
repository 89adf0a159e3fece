import fc from 'fast-check'
import type { JsonObject } from '../../src/core/json/json.ts'
import type { Settings } from '../../src/core/settings.ts'
import type { Driver } from './driver.ts'
import {
  type ClaimOptions,
  type Evidence,
  isOpen,
  type LeaseCall,
  type Model,
  type ModelTask,
  type NewTask,
  openQuestion,
} from './model.ts'

type Command = fc.AsyncCommand<Model, Driver>

/** Settings of a run, with limits small enough to be reached. */
export const rules: fc.Arbitrary<Partial<Settings>> = fc.record({
  claim_order: fc.constantFrom('fair', 'fair', 'fifo'),
  locatability: fc.constantFrom('lenient', 'lenient', 'lenient', 'strict'),
  max_active_tasks: fc.constantFrom(-1, -1, 5),
  max_concurrent_leases: fc.constantFrom(-1, -1, 2),
  max_lease_renewals: fc.constantFrom(1, 3, 10),
  max_lease_lifetime_seconds: fc.constantFrom(7200, 150),
  escalation_enabled: fc.boolean(),
  progress_receipts: fc.boolean(),
})

const agents = fc.constantFrom('ann', 'ben')
const workers = fc.constantFrom('w1', 'w2')
const types = fc.constantFrom('x', 'y')
const capabilities = fc.constantFrom([], [], ['gpu'], ['eu', 'gpu'])

const plain: NewTask = {
  owner: 'ann',
  principalAi: 'ann',
  type: 'x',
  capabilities: [],
  priority: 0,
  delay: 0,
  maxAttempts: 2,
  maxExpiries: 10,
  backoff: 15,
  timeout: null,
  payload: { n: 0 },
  key: null,
}

const newTask: fc.Arbitrary<NewTask> = fc.record({
  owner: agents,
  principalAi: fc.constantFrom('ann', 'ben', 'eve'),
  type: types,
  capabilities,
  priority: fc.constantFrom(0, 0, 0, 5, -3),
  delay: fc.constantFrom(0, 0, 0, 0, 7),
  maxAttempts: fc.constantFrom(1, 2, 3, 4),
  maxExpiries: fc.constantFrom(1, 2, 10),
  backoff: fc.constantFrom(0, 15, 400),
  timeout: fc.constantFrom(null, null, 45),
  payload: fc.constantFrom({ n: 0 }, { n: 1 }),
  key: fc.constant(null),
})

/** Few inputs, so that some keys are repeated with the same one. */
const keyedTask: fc.Arbitrary<NewTask> = fc
  .record({
    owner: agents,
    payload: fc.constantFrom({ n: 0 }, { n: 0 }, { n: 1 }),
    key: fc.constantFrom('k1', 'k2'),
  })
  .map((chosen) => ({ ...plain, ...chosen, principalAi: chosen.owner }))

const claimOptions: fc.Arbitrary<ClaimOptions> = fc.record({
  capabilities: fc.constantFrom([], ['gpu'], ['gpu', 'eu'], ['gpu', 'eu', 'more']),
  accept: fc.constantFrom(null, null, ['x'], ['x', 'y'], ['z']),
  prefer: fc.constantFrom([], [], ['y']),
  max: fc.constantFrom(1, 1, 2, 5),
  ttl: fc.constantFrom(10, 60, 120),
})

/** A worker that accepts every task. */
const anything = (max: number): ClaimOptions => ({
  capabilities: ['eu', 'gpu'],
  accept: null,
  prefer: [],
  max,
  ttl: 60,
})

/** Which lease to use, and whether correctly. */
interface Choice {
  readonly pick: number
  /** Whether to choose among the valid leases, if there are any. */
  readonly live: boolean
  readonly spoil: 'holder' | 'workerId' | null
}

const choice: fc.Arbitrary<Choice> = fc.record({
  pick: fc.nat(1000),
  live: fc.constantFrom(true, true, false),
  spoil: fc.constantFrom(null, null, null, null, null, null, 'holder', 'workerId'),
})

function leaseOf(model: Model, { pick, live, spoil }: Choice): LeaseCall | undefined {
  const leases = live && model.live.length > 0 ? model.live : model.leases
  const lease = leases[pick % leases.length]
  if (lease === undefined) return undefined
  const call = { lease, holder: lease.holder, workerId: lease.workerId }
  if (spoil === 'holder') return { ...call, holder: lease.holder === 'worker:w1' ? 'worker:w2' : 'worker:w1' }
  return spoil === 'workerId' ? { ...call, workerId: 'another' } : call
}

/** The evidence that is sent, and the part of it that counts. */
const evidence = fc.constantFrom<{ sent: JsonObject; counts: Evidence }>(
  { sent: {}, counts: { artifacts: null, proof: null } },
  { sent: { artifacts: [], delivery_proof: {} }, counts: { artifacts: null, proof: null } },
  { sent: { artifacts: ['a'] }, counts: { artifacts: ['a'], proof: null } },
  { sent: { artifacts: ['a'] }, counts: { artifacts: ['a'], proof: null } },
  { sent: { artifacts: ['b'] }, counts: { artifacts: ['b'], proof: null } },
  {
    sent: { delivery_proof: { mode: 'push', target: 't' } },
    counts: { artifacts: null, proof: { mode: 'push', target: 't' } },
  },
  { sent: { artifacts: [{}], delivery_proof: { mode: 'push' } }, counts: { artifacts: null, proof: null } },
)

function command<Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  run: (driver: Driver, args: Args) => Promise<unknown>,
  check: (model: Readonly<Model>, args: Args) => boolean = () => true,
): fc.Arbitrary<Command> {
  return args.map((chosen) => ({
    check: (model) => check(model, chosen),
    run: async (_, driver) => {
      await run(driver, chosen)
    },
    toString: () => `${name}(${JSON.stringify(chosen)})`,
  }))
}

/** A command for one lease; skipped while there is none. */
function leaseCommand<Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  run: (driver: Driver, call: LeaseCall, args: Args) => Promise<unknown>,
): fc.Arbitrary<Command> {
  return command(
    name,
    fc.record({ choice, args }),
    async (driver, chosen) => {
      const call = leaseOf(driver.model, chosen.choice)
      if (call !== undefined) await run(driver, call, chosen.args)
    },
    (model) => model.leases.length > 0,
  )
}

const create = command('create', newTask, (driver, input) => driver.create(input))
const createKeyed = command('create with a key', keyedTask, (driver, input) => driver.create(input))
const createSeveral = command(
  'create together',
  fc.array(fc.oneof(newTask, newTask, keyedTask), { minLength: 2, maxLength: 5, size: 'max' }),
  (driver, inputs) => driver.createMany(inputs),
)
const claim = command(
  'claim',
  fc.record({ worker: workers, options: claimOptions }),
  (driver, { worker, options }) => driver.claim(worker, worker, options),
)
const claimTogether = command(
  'claim together',
  fc.array(claimOptions, { minLength: 2, maxLength: 3, size: 'max' }),
  (driver, all) =>
    driver.claimTogether(all.map((options, i) => ({ id: `w${i + 1}`, workerId: `w${i + 1}`, options }))),
)

const start = leaseCommand('start', fc.constant(null), (driver, call) => driver.start(call))
const renew = leaseCommand('renew', fc.constantFrom(5, 30, 200), (driver, call, seconds) =>
  driver.renew(call, seconds),
)
const progress = leaseCommand(
  'progress',
  fc.record({ percent: fc.nat(100), seconds: fc.constantFrom(null, null, 20) }),
  (driver, call, { percent, seconds }) => driver.progress(call, percent, seconds),
)
const release = leaseCommand('release', fc.constant(null), (driver, call) => driver.release(call))
const complete = leaseCommand(
  'complete',
  fc.record({ result: fc.constantFrom(1, 1, 2), evidence }),
  (driver, call, { result, evidence }) => driver.complete(call, result, evidence.counts, evidence.sent),
)
const fail = leaseCommand(
  'fail',
  fc.record({ retryable: fc.boolean(), after: fc.constantFrom(null, null, 0, 33) }),
  (driver, call, { retryable, after }) => driver.fail(call, retryable, after),
)

const cancel = command(
  'cancel',
  fc.record({
    pick: fc.nat(1000),
    by: fc.constantFrom('owner', 'owner', 'admin', 'another'),
    exists: fc.constantFrom(true, true, true, true, false),
  }),
  async (driver, { pick, by, exists }) => {
    const { tasks } = driver.model
    const task = exists ? tasks[pick % tasks.length] : undefined
    const owner = task?.input.owner ?? 'ann'
    const principal =
      by === 'admin'
        ? ({ kind: 'human', id: 'root' } as const)
        : ({ kind: 'agent', id: by === 'owner' ? owner : 'eve' } as const)
    await driver.cancel(task, principal, by === 'admin')
  },
  (model) => model.tasks.length > 0,
)
const acknowledge = command(
  'acknowledge',
  fc.record({
    pick: fc.nat(1000),
    exists: fc.constantFrom(true, true, true, false),
    owner: fc.constantFrom(true, true, false),
    times: fc.constantFrom(1, 2),
  }),
  async (driver, { pick, exists, owner, times }) => {
    const { known } = driver.model
    const receipt = exists ? known[pick % known.length] : undefined
    const by = owner ? (receipt?.task.input.owner ?? 'ann') : 'eve'
    for (let n = 0; n < times; n++) await driver.acknowledge(receipt, by)
  },
  (model) => model.known.length > 0,
)

const pass = command('pass', fc.constantFrom(1, 4, 20, 70, 1000), async (driver, seconds) =>
  driver.system.clock.advance(seconds),
)
/** Advances the clock to the next timed event, or just beside it. */
const passTo = command(
  'pass to',
  fc.record({ pick: fc.nat(1000), offset: fc.constantFrom(-1, 0, 0, 1) }),
  async (driver, { pick, offset }) => {
    const { model, system } = driver
    const times = model.tasks.flatMap((task) => model.wakeAt(task) ?? []).filter((time) => time > model.now)
    const time = times[pick % times.length]
    if (time !== undefined) system.clock.now = Math.max(model.now, time + offset)
  },
  (model) => model.tasks.some((task) => model.wakeAt(task) !== null),
)
const sweep = command('sweep', fc.constant(null), (driver) => driver.sweep())
const restart = command('restart', fc.constant(null), (driver) => driver.system.restart())

/** Claims any tasks, and returns their leases. */
async function take(driver: Driver, max = 1): Promise<LeaseCall[]> {
  await driver.admitAll()
  const leases = await driver.claim('w1', 'w1', anything(max))
  return leases.map((lease) => ({ lease, holder: lease.holder, workerId: lease.workerId }))
}

async function skipTo(driver: Driver, time: number | null | undefined): Promise<void> {
  if (time !== null && time !== undefined && time > driver.model.now) driver.system.clock.now = time
}

const claimAndFail = command('claim and fail', fc.boolean(), async (driver, retryable) => {
  for (const call of await take(driver)) await driver.fail(call, retryable, null)
})
const claimAndComplete = command('claim and complete', evidence, async (driver, { counts, sent }) => {
  for (const call of await take(driver, 2)) await driver.complete(call, 1, counts, sent)
})
const completeTwice = command(
  'claim and complete twice',
  fc.record({ first: evidence, other: evidence, same: fc.boolean(), result: fc.constantFrom(1, 1, 1, 2) }),
  async (driver, { first, other, same, result }) => {
    await driver.create({ ...plain, priority: 9 })
    for (const call of await take(driver)) {
      const second = same ? first : other
      await driver.complete(call, 1, first.counts, first.sent)
      await driver.complete(call, result, second.counts, second.sent)
    }
  },
)
const failTwice = command('claim and fail twice', fc.boolean(), async (driver, retryable) => {
  await driver.create({ ...plain, priority: 9, maxAttempts: 1 })
  for (const call of await take(driver)) {
    await driver.fail(call, retryable, null)
    await driver.fail(call, retryable, null)
  }
})
const claimAndExpire = command('claim and expire', fc.boolean(), async (driver, swept) => {
  for (const { lease } of await take(driver)) {
    await skipTo(driver, lease.expiresAt)
    if (swept) await driver.sweep()
  }
})
/** Fails the same task until its attempts are exhausted. */
const failToTheEnd = command('fail to the end', fc.constantFrom(null, 0), async (driver, after) => {
  const task = await driver.create({ ...plain, priority: 9, maxAttempts: 4, backoff: 300 })
  for (let n = 0; n < 5 && task !== undefined && isOpen(task); n++) {
    for (const call of await take(driver)) await driver.fail(call, true, after)
    await skipTo(driver, driver.model.wakeAt(task))
  }
})
const expireToTheEnd = command('expire to the end', fc.constantFrom(2, 5), async (driver, maxExpiries) => {
  const task = await driver.create({ ...plain, priority: 9, maxExpiries })
  for (let n = 0; n < maxExpiries && task !== undefined && isOpen(task); n++) {
    for (const { lease } of await take(driver)) await skipTo(driver, lease.expiresAt)
    await driver.sweep()
    await skipTo(driver, driver.model.wakeAt(task))
  }
})
const runIntoTimeout = command('run into the timeout', fc.constantFrom(1, 2), async (driver, maxAttempts) => {
  await driver.create({ ...plain, priority: 9, timeout: 30, maxAttempts, backoff: 0 })
  for (const call of await take(driver)) {
    await driver.renew(call, 10)
    await skipTo(driver, call.lease.expiresAt)
    await driver.sweep()
  }
})
/** A lease that expires long before the timeout, detected only after it. */
const lapseUnnoticed = command('lapse unnoticed', fc.constant(null), async (driver) => {
  await driver.create({ ...plain, priority: 9, timeout: 45 })
  await driver.admitAll()
  const leases = await driver.claim('w1', 'w1', { ...anything(1), ttl: 10 })
  for (const lease of leases) await skipTo(driver, lease.acquiredAt + 45_000)
  await driver.sweep()
})
const renewToTheLimit = command(
  'renew to the limit',
  fc.record({ step: fc.constantFrom(1, 40), byProgress: fc.boolean() }),
  async (driver, { step, byProgress }) => {
    for (const call of await take(driver)) {
      await driver.start(call)
      for (let n = 0; n < driver.gate.settings.max_lease_renewals + 2; n++) {
        if (byProgress) await driver.progress(call, n, 50)
        else await driver.renew(call, 50)
        driver.system.clock.advance(step)
      }
      await driver.progress(call, 50, null)
      await driver.start(call)
    }
  },
)
/** The claim loads only as many tasks as it may take, and then finds them canceled. */
const cancelAndClaim = command(
  'cancel the next and claim',
  fc.nat(1000),
  async (driver, pick) => {
    const ready = driver.model.tasks.filter((task) => task.status === 'queued')
    const claims = [{ id: 'w1', workerId: 'w1', options: anything(1) }]
    await driver.claimTogether(claims, ready.at(pick % ready.length))
  },
  (model) => model.tasks.some((task) => task.status === 'queued'),
)
const LEASE_VERBS = ['start', 'renew', 'progress', 'release', 'complete', 'fail', 'ask'] as const
const leaseVerb = fc.constantFrom(...LEASE_VERBS)

async function use(driver: Driver, call: LeaseCall, verb: (typeof LEASE_VERBS)[number]): Promise<void> {
  switch (verb) {
    case 'start':
      return driver.start(call)
    case 'renew':
      return driver.renew(call, 30)
    case 'progress':
      return driver.progress(call, 10, null)
    case 'release':
      return driver.release(call)
    case 'complete':
      return driver.complete(call, 1, { artifacts: ['a'], proof: null }, { artifacts: ['a'] })
    case 'fail':
      return driver.fail(call, true, null)
    case 'ask':
      return driver.ask(call, 'approval', null)
  }
}

const useOldLease = command(
  'use a lease after its end',
  fc.record({ pick: fc.nat(1000), verb: leaseVerb }),
  async (driver, { pick, verb }) => {
    const { model } = driver
    const ended = model.leases.filter((lease) => !model.live.includes(lease))
    const lease = ended[pick % ended.length]
    if (lease === undefined) return
    await use(driver, { lease, holder: lease.holder, workerId: lease.workerId }, verb)
  },
  (model) => model.leases.length > model.live.length,
)
/** Every kind of wrong caller. */
const misuse = command(
  'misuse a lease',
  fc.record({
    how: fc.constantFrom('holder', 'workerId', 'lapsed', 'replaced', 'canceled', 'released'),
    verb: leaseVerb,
  }),
  async (driver, { how, verb }) => {
    await driver.create({ ...plain, priority: 9 })
    const [call] = await take(driver)
    if (call === undefined) return
    if (how === 'lapsed' || how === 'replaced') await skipTo(driver, call.lease.expiresAt)
    if (how === 'replaced') {
      await driver.sweep()
      await skipTo(driver, driver.model.wakeAt(call.lease.task))
      await driver.claim('w2', 'w2', anything(5))
    }
    if (how === 'canceled') await driver.cancel(call.lease.task, { kind: 'human', id: 'root' }, true)
    if (how === 'released') await driver.release(call)
    const wrong = {
      ...call,
      ...(how === 'holder' && { holder: 'worker:w2' }),
      ...(how === 'workerId' && { workerId: 'w2' }),
    }
    await use(driver, wrong, verb)
  },
)

const kinds = fc.constantFrom('approval', 'input')
const soonOver = fc.constantFrom(null, null, 30)
const askSomething = leaseCommand(
  'ask',
  fc.record({ kind: kinds, seconds: soonOver }),
  (driver, call, { kind, seconds }) => driver.ask(call, kind, seconds),
)
const admitAll = command(
  'admit all',
  fc.constant(null),
  (driver) => driver.admitAll(),
  (model) => model.isStrict,
)

/** Callers who decide a question; not all of them are allowed to. */
const deciders = fc.constantFrom('admin', 'admin', 'person', 'person', 'owner', 'another')
type DeciderName = 'admin' | 'person' | 'owner' | 'another'

const decider = (name: DeciderName, { input }: ModelTask) => ({
  by: { admin: 'human:root', person: 'human:paul', owner: `agent:${input.owner}`, another: 'agent:zoe' }[
    name
  ],
  isAdmin: name === 'admin',
})

const decisions = fc.record({
  by: deciders,
  decision: fc.constantFrom('approve', 'approve', 'deny', 'deny', 'answer'),
  payload: fc.constantFrom(undefined, undefined, { n: 0 }, { n: 7 }),
})

const decideSomething = command(
  'decide',
  fc.record({
    pick: fc.nat(1000),
    open: fc.constantFrom(true, true, false),
    n: fc.constantFrom(0, 0, 0, 1),
    decisions,
  }),
  async (driver, { pick, open, n, decisions: { by, decision, payload } }) => {
    const { tasks } = driver.model
    const waiting = tasks.filter((task) => openQuestion(task) !== undefined)
    const among = open && waiting.length > 0 ? waiting : tasks
    const task = among[pick % among.length]
    if (task === undefined) return
    const edited = decision === 'approve' ? payload : undefined
    await driver.decide(task, task.questions.length + n || 1, decision, decider(by, task), edited)
  },
  (model) => model.tasks.length > 0,
)

/** Creates a task that waits for a question of this kind. */
async function parkNew(driver: Driver, kind: 'approval' | 'input', seconds: number | null) {
  await driver.create({ ...plain, priority: 9 })
  const [call] = await take(driver)
  if (call === undefined) return undefined
  await driver.ask(call, kind, seconds)
  return call
}

/** Asks a question, decides it, and decides it again in any way. */
const askAndDecide = command(
  'ask and decide',
  fc.record({ kind: kinds, first: decisions, again: fc.boolean(), second: decisions, late: fc.boolean() }),
  async (driver, { kind, first, again, second, late }) => {
    const call = await parkNew(driver, kind, late ? 30 : null)
    if (call === undefined) return
    const { task } = call.lease
    if (late) driver.system.clock.advance(30)
    const n = task.questions.length
    for (const { by, decision, payload } of [first, again ? first : second]) {
      const fitting = kind === 'input' ? 'answer' : decision
      const edited = fitting === 'approve' ? payload : undefined
      await driver.decide(task, n, fitting, decider(by, task), edited)
    }
    await driver.ask(call, kind, null)
  },
)

const askAndLeave = command(
  'ask and leave',
  fc.record({ kind: kinds, how: fc.constantFrom('cancel', 'expire', 'late call'), by: deciders }),
  async (driver, { kind, how, by }) => {
    const call = await parkNew(driver, kind, how === 'expire' ? 30 : null)
    if (call === undefined) return
    const { task } = call.lease
    if (how === 'cancel') await driver.cancel(task, { kind: 'human', id: 'root' }, true)
    if (how === 'expire') {
      driver.system.clock.advance(30)
      await driver.sweep()
    }
    await driver.complete(call, 1, { artifacts: ['a'], proof: null }, { artifacts: ['a'] })
    const decision = kind === 'input' ? 'answer' : 'approve'
    await driver.decide(task, task.questions.length, decision, decider(by, task))
  },
)

/** Repeated entries are more likely. */
export const commands: fc.Arbitrary<Command>[] = [
  ...[create, create, create, createKeyed, createKeyed, createSeveral],
  ...[claim, claim, claimTogether],
  ...[start, renew, progress, release, complete, complete, fail, fail],
  ...[cancel, cancel, acknowledge],
  ...[askSomething, askSomething, decideSomething, decideSomething, admitAll],
  ...[askAndDecide, askAndDecide, askAndDecide, askAndLeave, askAndLeave],
  ...[pass, passTo, passTo, sweep, restart],
  ...[claimAndFail, failTwice, claimAndComplete, completeTwice, completeTwice, claimAndExpire],
  ...[failToTheEnd, expireToTheEnd, runIntoTimeout, lapseUnnoticed, renewToTheLimit, renewToTheLimit],
  ...[cancelAndClaim, useOldLease, misuse, misuse, misuse, misuse, misuse],
]
