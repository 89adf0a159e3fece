/**
 * Runs the official conformance suite of MCP against the fixture server, with the fast path on and off, and against the
 * authorization server. Fails unless every scenario that a revision requires of servers, and every scenario for
 * authorization servers, has run and passed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { parse } from 'yaml'
import { z } from 'zod'
import { runAuthorization } from './conformance/authorization.ts'
import {
  type Checks,
  collectChecks,
  count,
  here,
  problem,
  run,
  SCRIPT,
  SUITE,
  suiteNode,
} from './conformance/suite.ts'

interface Round {
  readonly name: string
  readonly revision: string
  readonly flags: readonly string[]
  /** Whether to include the scenarios of the Tasks extension, which the revision itself does not require. */
  readonly withTasks?: boolean
}

const sets: readonly Omit<Round, 'flags'>[] = [
  { name: '2026-07-28', revision: '2026-07-28', withTasks: true },
  { name: '2025-11-25', revision: '2025-11-25' },
]
const rounds: readonly Round[] = sets.flatMap((set) => [
  { ...set, name: `${set.name}, fast path on`, flags: [] },
  { ...set, name: `${set.name}, fast path off`, flags: ['--no-fast-path'] },
])

const Requirements = z.object({
  server: z.array(z.string()),
  not_scored: z.array(z.object({ scenario: z.string(), leg: z.string() })).default([]),
})

async function startFixture(flags: readonly string[]) {
  const script = here('test/conformance/fixture-server.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  if (child.stdout === null) throw new Error('The fixture server has no output')
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, 'exit').then(() => {
    throw new Error('The fixture server ended')
  })
  ended.catch(() => {})
  const [url] = await Promise.race([once(lines, 'line'), ended])
  return { url: z.string().parse(url), stop: () => child.kill() }
}

async function runSuite(node: string, url: string, revision: string): Promise<Map<string, Checks>> {
  return collectChecks('server-', async (results) => {
    const options = ['server', '--url', url, '--requirements', revision, '-o', results]
    // The exit code is 0 even if every scenario was skipped, so only the results count.
    await run(node, [SCRIPT, ...options], { maxBuffer: 64 * 1024 * 1024 }).catch(() => {})
  })
}

async function runRound(node: string, round: Round): Promise<boolean> {
  const file = here(`${SUITE}/requirements/${round.revision}.yaml`)
  const { server: required, not_scored } = Requirements.parse(parse(readFileSync(file, 'utf8')))
  const extension = round.withTasks ? taskScenarios(not_scored) : []
  const fixture = await startFixture(round.flags)
  const results = await runSuite(node, fixture.url, round.revision).finally(fixture.stop)

  const problems = required.flatMap((scenario) => {
    const found = problem(results.get(scenario))
    return found ? [`  ${scenario}: ${found}`] : []
  })
  const checks = required.flatMap((scenario) => results.get(scenario) ?? [])
  const others = [...results].filter(([scenario]) => ![...required, ...extension].includes(scenario))
  const othersPassed = others.filter(([, checks]) => problem(checks) === undefined)
  console.log(
    `${round.name}: ${required.length - problems.length} of ${required.length} required scenarios passed ` +
      `(checks: ${count(checks, 'SUCCESS')} passed, ${count(checks, 'FAILURE')} failed, ` +
      `${count(checks, 'WARNING')} warnings); not scored: ${othersPassed.length} of ${others.length}`,
  )
  for (const line of problems) console.log(line)
  const withTasks = round.withTasks ? judgeTasks(extension, results) : true
  return required.length > 0 && problems.length === 0 && withTasks
}

const taskScenarios = (listed: z.infer<typeof Requirements>['not_scored']) =>
  listed
    .filter(({ scenario, leg }) => leg === 'server' && scenario.startsWith('tasks-'))
    .map(({ scenario }) => scenario)

/** The number of scenarios of the Tasks extension, so that none is skipped unnoticed. */
const TASK_SCENARIOS = 10

/** Scenarios that the suite does not implement yet. The tests of this project cover them. */
const STUBS: readonly string[] = ['tasks-status-notifications']

/** Prints each scenario with its checks. */
function judgeTasks(scenarios: readonly string[], results: ReadonlyMap<string, Checks>): boolean {
  let passed = scenarios.length === TASK_SCENARIOS
  for (const scenario of scenarios) {
    const checks = results.get(scenario)
    const isStub = STUBS.includes(scenario) && checks?.every(({ status }) => status === 'SKIPPED') === true
    const found = isStub ? undefined : problem(checks)
    const skipped = checks?.[0]?.errorMessage ?? 'no reason given'
    const done = `${count(checks ?? [], 'SUCCESS')} of ${checks?.length ?? 0} checks passed`
    console.log(`  ${scenario}: ${found ?? (isStub ? `skipped by the suite (${skipped})` : done)}`)
    if (found !== undefined) passed = false
  }
  return passed
}

const node = await suiteNode()
let passed = true
for (const round of rounds) passed = (await runRound(node, round)) && passed
passed = (await runAuthorization(node)) && passed
if (!passed) process.exitCode = 1
