import { setTimeout as delay } from 'node:timers/promises'
import type { Gate } from '../../src/features/gate.ts'
import { ADMIN, agent, worker } from './people.ts'
import { type DemoType, TYPES } from './types.ts'

/** The clock of the store, which the seed moves through the last day. */
export interface DemoClock {
  now: number
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const AGENTS = ['planner', 'researcher', 'support'] as const

/** Numbers that look random and are the same in each run, so that screenshots change only with the console. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

/** Fills a gate with a day of work. At the end the clock shows `now`. */
export async function seed(gate: Gate, clock: DemoClock, now: number): Promise<void> {
  clock.now = now - 24 * HOUR
  await rules(gate)
  await registerWorkers(gate)
  await schedules(gate)
  await work(gate, clock, now, now - 24 * HOUR, now - 10 * MINUTE)
  await toolCalls(gate)
  await waitingForPeople(gate)
  await work(gate, clock, now, now - 9 * MINUTE, now - 2 * MINUTE)
  clock.now = Math.max(clock.now, now - 40_000)
  await openWork(gate)
  await keys(gate)
  clock.now = now
  await registerWorkers(gate)
  await gate.history.flush()
}

async function rules(gate: Gate): Promise<void> {
  await gate.putPolicy(ADMIN, {
    id: 'payments',
    description: 'A person approves every payment',
    priority: 200,
    action: 'REQUIRE_APPROVAL',
    scope: { type: 'invoice.pay' },
  })
  await gate.putPolicy(ADMIN, {
    id: 'no-deletion',
    description: 'Agents do not delete customers',
    priority: 300,
    action: 'BLOCK',
    scope: { type: 'crm.delete' },
  })
  await gate.putPolicy(ADMIN, {
    id: 'tracker-writes',
    description: 'Merging needs approval',
    priority: 210,
    action: 'REQUIRE_APPROVAL',
    scope: { upstream: 'tracker', tool: 'merge_pull_request' },
  })
  await gate.putPolicy(ADMIN, {
    id: 'tracker-reads',
    description: 'Everything else in the tracker is allowed',
    priority: 100,
    action: 'ALLOW',
    scope: { upstream: 'tracker' },
  })
}

async function registerWorkers(gate: Gate): Promise<void> {
  for (const { worker: id, type, description, input_schema } of TYPES) {
    await gate.registerWorker(worker(id), {
      worker_id: id,
      worker_type: 'node',
      capabilities: [type.split('.')[0] ?? type],
      accept_types: [type],
      task_types: [{ type, description, input_schema }],
    })
  }
  await gate.registerWorker(worker('payments-1'), { worker_id: 'payments-1', accept_types: ['invoice.pay'] })
}

async function schedules(gate: Gate): Promise<void> {
  const plans = [
    {
      name: 'Morning report',
      mode: 'cron',
      cron_expr: '0 7 * * 1-5',
      timezone: 'Europe/Berlin',
      type: 'report.summarise',
    },
    { name: 'Product images', mode: 'interval', interval_seconds: 6 * 3600, type: 'image.resize' },
    { name: 'Weekly newsletter', mode: 'cron', cron_expr: '30 9 * * 1', timezone: 'UTC', type: 'email.send' },
  ]
  for (const { type, ...plan } of plans) {
    await gate.createTask(agent('planner'), {
      type: 'schedule.create',
      payload: { ...plan, task_template: { type, payload_template: { at: '{{run_at}}' } } },
    })
    const held = await claim(gate, 'scheduler-1', 'schedule.create')
    await gate.recordSchedule(worker('scheduler-1'), { ...held, schedule_id: held.task_id, event: 'created' })
    await gate.complete(worker('scheduler-1'), {
      ...held,
      result: {},
      artifacts: [{ schedule_id: held.task_id }],
    })
  }
}

/** A day of tasks: few at night, more in the last hour. */
async function work(gate: Gate, clock: DemoClock, now: number, from: number, to: number): Promise<void> {
  const random = randomNumbers(7)
  for (let at = from; at < to; at += at > now - HOUR ? MINUTE : 10 * MINUTE) {
    const hour = new Date(at).getUTCHours()
    const count = Math.round(1 + random() * (hour > 6 && hour < 20 ? 5 : 2))
    for (let n = 0; n < count; n++) {
      const type = TYPES[Math.floor(random() * TYPES.length)] ?? TYPES[0]
      clock.now = Math.max(clock.now, at) + Math.floor(random() * 2_000)
      await oneTask(gate, clock, type, random)
    }
  }
}

async function oneTask(gate: Gate, clock: DemoClock, type: DemoType, random: () => number): Promise<void> {
  const owner = AGENTS[Math.floor(random() * AGENTS.length)] ?? 'planner'
  const n = Math.floor(random() * 900)
  await gate.createTask(agent(owner), {
    type: type.type,
    payload: type.payload(n),
    labels: { team: owner === 'support' ? 'care' : 'growth' },
    session_id: `${owner}-${new Date(clock.now).getUTCHours()}`,
  })
  clock.now += Math.round(type.wait * (0.3 + 2 * random()) * 1000)
  const held = await claim(gate, type.worker, type.type)
  const by = worker(type.worker)
  await gate.startTask(by, held)
  clock.now += Math.round(type.run * (0.4 + 1.6 * random()) * 1000)
  if (random() < type.failures) {
    await gate.fail(by, { ...held, error: type.error, retryable: false })
  } else {
    await gate.complete(by, {
      ...held,
      result: type.result,
      artifacts: [{ url: 'https://files.example/out' }],
    })
  }
}

async function claim(gate: Gate, id: string, type: string) {
  const { tasks } = await gate.leaseNext(worker(id), { worker_id: id, accept_types: [type] })
  const [task] = tasks
  if (task === undefined) throw new Error(`${id} got no task of type ${type}`)
  return { worker_id: id, task_id: task.task_id, lease_id: task.lease_id }
}

async function waitingForPeople(gate: Gate): Promise<void> {
  for (const [supplier, amount] of [
    ['Acme Paper', 1_840],
    ['Northwind Traders', 99_000],
    ['City Utilities', 312.5],
  ] as const) {
    await gate.createTask(agent('planner'), {
      type: 'invoice.pay',
      summary: `Pay ${amount.toLocaleString('en-US')} EUR to ${supplier}`,
      payload: {
        supplier,
        amount,
        currency: 'EUR',
        iban: 'DE02 1203 0000 0000 2020 51',
        invoice: `R-${amount}`,
      },
    })
  }
  await gate.createTask(agent('support'), {
    type: 'email.send',
    payload: { to: 'anna@example.com', subject: 'Refund' },
  })
  const held = await claim(gate, 'mailer-1', 'email.send')
  await gate.ask(worker('mailer-1'), {
    ...held,
    kind: 'input',
    request: { message: 'Which order should be refunded: A-1001 or A-1007?' },
  })
}

async function openWork(gate: Gate): Promise<void> {
  for (let n = 0; n < 14; n++) {
    const type = TYPES[n % TYPES.length] ?? TYPES[0]
    await gate.createTask(agent(AGENTS[n % 3] ?? 'planner'), { type: type.type, payload: type.payload(n) })
  }
  for (let n = 0; n < 6; n++) {
    await gate.createTask(agent('researcher'), { type: 'ocr.scan', payload: { page: n + 1 } })
  }
  for (const [i, type] of TYPES.entries()) {
    const held = await claim(gate, type.worker, type.type)
    await gate.startTask(worker(type.worker), held)
    const progress = { percent: 30 + 20 * i, message: 'Reading the input' }
    await gate.reportProgress(worker(type.worker), { ...held, progress })
  }
}

async function toolCalls(gate: Gate): Promise<void> {
  const client = { instance: 'demo-1', name: 'claude-code', version: '2.0.14' }
  for (let tries = 0; gate.upstreamTools('default').length === 0 && tries < 100; tries++) await delay(100)
  const call = (tool: string, args: object) =>
    gate.callTool(agent('claude-code'), { upstream: 'tracker', tool, arguments: args }, client)
  const repository = 'shop/web'
  await call('search_issues', { repository, query: 'checkout fails' })
  await call('get_issue', { repository, number: 118 })
  await call('merge_pull_request', { repository, number: 245 })
}

async function keys(gate: Gate): Promise<void> {
  for (const [kind, id, role, name] of [
    ['human', 'pedro', 'operator', 'On-call laptop'],
    ['agent', 'planner', 'agent', 'Planner in production'],
    ['worker', 'summariser-1', 'worker', 'Summariser'],
  ]) {
    await gate.createKey(ADMIN, { principal: { kind, id }, role, name })
  }
}
