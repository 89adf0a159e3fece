import { hash } from 'node:crypto'
import { OPEN_STATUSES } from '../../src/core/transitions.ts'
import type { Gate } from '../../src/features/gate.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { seededRandom } from '../../src/util/random.ts'
import { admin, ManualClock, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import { person } from '../support/questions.ts'
import { type Actor, Admin, Agent, Sweeper } from './agent.ts'
import { Approver } from './approver.ts'
import { Dice, turns } from './dice.ts'
import { randomSwarm } from './swarm.ts'
import { Worker } from './worker.ts'
import { TENANTS, type Timers, World } from './world.ts'

export interface Report {
  readonly seed: number
  readonly violations: readonly string[]
  readonly calls: number
  readonly tasks: number
  readonly simulatedMs: number
  /** Equal for two runs exactly if all calls had the same outcomes in the same order. */
  readonly digest: string
  readonly log: readonly string[]
}

/** One run, determined by its seed: a phase with faults, and a quiet phase in which all tasks must end. */
export async function simulate(seed: number, timers: Timers): Promise<Report> {
  const clock = new ManualClock()
  const store = await openSqliteStore({ path: ':memory:', now: () => clock.now, random: seededRandom(seed) })
  try {
    const world = new World(seed, randomSwarm(new Dice(seed)), store, clock, timers)
    await faultyPhase(world)
    await quietPhase(world, world.calm())
    let tasks = 0
    for (const name of TENANTS) {
      const tenant = await store.tenant(name)
      await world.history.verify(store.reads, tenant, world.swarm.settings)
      for (const violation of await checkInvariants(store, tenant)) world.history.violation(violation)
      const lines = await store.reads.scan(tenant.tenant, { by: 'all' }, Number.MAX_SAFE_INTEGER, 1_000_000)
      tasks += lines.length
    }
    return {
      seed,
      violations: world.history.violations,
      calls: world.log.length,
      tasks,
      simulatedMs: world.simulatedMs,
      digest: hash('sha256', world.log.join('\n')),
      log: world.log,
    }
  } finally {
    await store.close()
  }
}

async function faultyPhase(world: World): Promise<void> {
  const { dice, swarm } = world
  const actors = actorsOf(world)
  const busy = new Set<Actor>()
  for (let step = 0; step < swarm.steps; step++) {
    if (dice.chance(swarm.crash)) world.crash()
    if (dice.chance(swarm.pass)) world.pass(1 + dice.below(3000))
    if (dice.chance(swarm.jump)) world.pass(dice.below(600_000))
    for (let n = dice.below(swarm.inFlight + 1); n >= 0; n--) {
      const actor = dice.pick(actors)
      if (busy.has(actor)) continue
      busy.add(actor)
      actor
        .step()
        .catch((error: unknown) => world.history.violation(`${actor.name} failed: ${error}`))
        .finally(() => busy.delete(actor))
    }
    await turns(dice.below(4))
  }
  // Waits end by the clock, everything else without it.
  for (let n = 0; busy.size > 0 && n < 200; n++) {
    await turns(20)
    if (n > 5) world.pass(1000)
  }
  for (const actor of busy) world.history.violation(`a call of ${actor.name} never came back`)
}

function actorsOf(world: World): Actor[] {
  const { dice, swarm } = world
  const actors: Actor[] = []
  for (let i = 0; i < swarm.agents; i++) actors.push(new Agent(world, dice.pick(TENANTS), `agent-${i}`))
  for (let i = 0; i < swarm.workers; i++) actors.push(new Worker(world, dice.pick(TENANTS), `worker-${i}`))
  if (world.does('cancel')) for (const tenant of TENANTS) actors.push(new Admin(world, tenant))
  for (const tenant of TENANTS) {
    actors.push(new Approver(world, person('paul', tenant)), new Approver(world, admin(tenant)))
  }
  if (world.does('sweep')) actors.push(new Sweeper(world))
  return actors
}

const QUIET_ROUNDS = 60
const ROUND_MS = 300_000

/** Only correct calls. Regardless of what happened before, no task may be stuck. */
async function quietPhase(world: World, gate: Gate): Promise<void> {
  for (let round = 0; round < QUIET_ROUNDS; round++) {
    await settled(world, gate.sweep())
    for (const tenant of TENANTS) {
      await settled(world, answerAll(world, gate, tenant))
      await settled(world, workOff(gate, tenant))
    }
    if (await isDone(gate)) return
    world.pass(ROUND_MS)
  }
  world.history.violation(`tasks are still open after ${QUIET_ROUNDS} quiet rounds`)
}

async function answerAll(world: World, gate: Gate, tenant: string): Promise<void> {
  for (const status of ['pending_approval', 'input_required']) {
    for (;;) {
      const { tasks } = await gate.listTasks(admin(tenant), { status, limit: 100 })
      if (tasks.length === 0) break
      for (const { task_id, question } of tasks) {
        const name = { task_id, n: question?.n }
        const deciding =
          question?.kind === 'input'
            ? gate.answerQuestion(admin(tenant), { ...name, content: 'this one' })
            : gate.approve(admin(tenant), name)
        world.history.decided(await deciding)
      }
    }
  }
}

async function workOff(gate: Gate, tenant: string): Promise<void> {
  const honest = worker('honest', tenant)
  for (;;) {
    const { tasks } = await gate.leaseNext(honest, {
      worker_id: 'honest',
      capabilities: ['gpu'],
      max_tasks: 100,
    })
    if (tasks.length === 0) return
    for (const { task_id, lease_id } of tasks) {
      const lease = { worker_id: 'honest', task_id, lease_id }
      await gate.complete(honest, { ...lease, result: { by: lease_id }, artifacts: [lease_id] })
    }
  }
}

async function isDone(gate: Gate): Promise<boolean> {
  for (const tenant of TENANTS) {
    for (const status of OPEN_STATUSES) {
      const { tasks } = await gate.listTasks(
        { tenant, principal: { kind: 'human', id: 'root' }, role: 'admin' },
        { status, limit: 1 },
      )
      if (tasks.length > 0) return false
    }
  }
  return true
}

/** Sweeps pause between batches, which takes simulated time. */
async function settled(world: World, call: Promise<unknown>): Promise<void> {
  let isSettled = false
  const done = call
    .catch((error: unknown) => world.history.violation(`in the quiet phase: ${error}`))
    .finally(() => {
      isSettled = true
    })
  for (let n = 0; !isSettled && n < 10_000; n++) {
    await turns(10)
    if (!isSettled) world.pass(10)
  }
  if (!isSettled) world.history.violation('a call of the quiet phase never came back')
  else await done
}
