import { expect } from 'vitest'
import type { Json } from '../../src/core/json/json.ts'
import type { Receipt } from '../../src/core/receipt.ts'
import { findOperation } from '../../src/features/catalogue.ts'
import type { TaskRecord } from '../../src/store/reads.ts'
import { admin } from '../support/gates.ts'
import { SCENARIO, SETTINGS } from './scenario.ts'
import { type Call, resolveFields } from './step.ts'
import type { Outcome, Transport } from './transports.ts'
import { openWorld, type StoreName, type World } from './world.ts'

const SEED = 2026

/** The outcomes of a run of the scenario, and the data that it stored. */
export interface Run {
  /** The outcome of each call, in order. */
  readonly outcomes: readonly { readonly step: string; readonly outcome: Outcome }[]
  readonly salt: string
  readonly tasks: readonly TaskRecord[]
  readonly receipts: readonly Receipt[]
}

export async function runScenario(
  storeName: StoreName,
  connect: (world: World) => Promise<Transport>,
  servers = 1,
): Promise<Run> {
  const world = await openWorld(storeName, SEED, SETTINGS, servers)
  const transport = await connect(world)
  try {
    const outcomes = await play(world, transport)
    expect(world.errors).toEqual([])
    return { outcomes, ...(await leftBehind(world)) }
  } finally {
    await transport.close()
    await world.close()
  }
}

async function play(world: World, transport: Transport): Promise<Run['outcomes']> {
  const answers = new Map<string, Json>()
  const outcomes: Run['outcomes'][number][] = []
  let isAhead = false
  for (const [n, step] of SCENARIO.entries()) {
    if ('seconds' in step) {
      world.clock.advance(step.seconds)
      await world.gate.sweep()
      continue
    }
    if (isAhead && step.oneServer !== true) await readRegistries(world)
    isAhead = step.oneServer === true
    const outcome = await make(step, transport, answers)
    outcomes.push({ step: `${n} ${step.operation}`, outcome })
  }
  return outcomes
}

/** Servers read the registrations of others every two seconds. These lists are read from the store immediately. */
async function readRegistries({ gates }: World): Promise<void> {
  for (const gate of gates) {
    await gate.listPolicies(admin(), {})
    await gate.listTaskTypes(admin(), {})
  }
}

async function make(step: Call, transport: Transport, answers: Map<string, Json>): Promise<Outcome> {
  const operation = findOperation(step.operation)
  if (operation === undefined) throw new Error(`${step.operation} is not in the catalogue`)
  const outcome = await transport.call(operation, resolveFields(step.input, answers), step.oneServer)
  const said = `${step.operation} ${JSON.stringify(step.input).slice(0, 200)} was answered ${JSON.stringify(outcome)}`
  if ('refused' in step.expect) {
    expect(outcome, said).toMatchObject({ error: { code: step.expect.refused } })
    return outcome
  }
  expect(outcome, said).toMatchObject({ answer: resolveFields(step.expect.answer, answers) })
  if ('answer' in outcome && step.as !== undefined) {
    answers.set(step.as, JSON.parse(JSON.stringify(outcome.answer)))
  }
  return outcome
}

/** Read from the store itself, not through a protocol. */
async function leftBehind({ store }: World): Promise<Omit<Run, 'outcomes'>> {
  const { tenant, salt } = await store.tenant('default')
  const lines = await store.reads.scan(tenant, { by: 'all' }, Number.MAX_SAFE_INTEGER, 1000)
  const tasks = await store.reads.tasks(
    tenant,
    lines.map((line) => line.task_id),
  )
  return {
    salt,
    tasks: tasks.toSorted((a, b) => a.task.seq - b.task.seq),
    receipts: await store.reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 10_000),
  }
}
