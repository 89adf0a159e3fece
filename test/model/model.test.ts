import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../support/postgres.ts'
import { commands, rules } from './commands.ts'
import { Coverage, REQUIRED } from './coverage.ts'
import { Driver } from './driver.ts'
import { Model } from './model.ts'
import { inFile, inMemory, inPostgres, openSystem, type Place } from './system.ts'

const RUNS = 180
const MAX_COMMANDS = 60
/** An outcome may be rare in one campaign by chance; it must not be out of reach of this many. */
const MAX_CAMPAIGNS = 4

/** `ASYNCGATE_RUNS` sets the number of runs in memory; the slower campaigns scale with it. */
const scale = Number(process.env.ASYNCGATE_RUNS ?? RUNS) / RUNS
/** `SEED`, or `SEED:RUN` for a single run of that campaign. */
const [seed, path] = process.env.ASYNCGATE_SEED?.split(':') ?? []

interface Campaign {
  readonly coverage: Coverage
  readonly jitters: number[]
}

async function campaign(
  name: string,
  runs: number,
  open: () => Place,
  { coverage, jitters }: Campaign = { coverage: new Coverage(), jitters: [] },
): Promise<Campaign> {
  const property = fc.asyncProperty(
    rules,
    fc.nat(),
    fc.constantFrom(false, false, false, true),
    fc.commands(commands, { maxCommands: MAX_COMMANDS, size: 'max' }),
    async (settings, draws, isStrict, run) => {
      const system = await openSystem(open(), settings, draws, isStrict)
      try {
        const model = new Model(system.gate.settings, system.clock, isStrict)
        const driver = new Driver(model, system, coverage, jitters)
        await fc.asyncModelRun(async () => ({ model, real: driver }), run)
        await driver.finish()
      } catch (error) {
        throw system.errors.length === 0
          ? error
          : new AggregateError([error, ...system.errors], String([error, ...system.errors]))
      } finally {
        await system.close()
      }
    },
  )
  const details = await fc.check(property, {
    numRuns: Math.ceil(runs * scale),
    ...(seed !== undefined && { seed: Number(seed) }),
    ...(path !== undefined && { path }),
  })
  if (details.failed) {
    const run = details.counterexamplePath?.split(':')[0]
    const again = `ASYNCGATE_SEED=${details.seed}:${run} npx vitest run test/model -t '${name}'`
    const report = [
      fc.defaultReportMessage(details),
      String(details.errorInstance),
      `To see it again:\n  ${again}`,
    ]
    throw new Error(report.join('\n\n'), { cause: details.errorInstance })
  }
  console.log(`model, ${name}: ${details.numRuns} runs, seed ${details.seed}, ${coverage}`)
  return { coverage, jitters }
}

describe('model of the gate', () => {
  const timeout = 120_000 * Math.max(1, scale)

  it(
    'the gate matches the model on SQLite in memory, and the campaign reaches every outcome',
    async () => {
      const reached = await campaign('on SQLite in memory', RUNS, inMemory)
      if (path !== undefined || scale < 1) return
      const { coverage, jitters } = reached
      for (let n = 1; n < MAX_CAMPAIGNS && coverage.missing(REQUIRED).length > 0; n++) {
        await campaign('on SQLite in memory', RUNS, inMemory, reached)
      }
      expect(coverage.missing(REQUIRED)).toEqual([])
      expect(Math.min(...jitters)).toBeLessThan(500)
      expect(Math.max(...jitters)).toBeGreaterThan(4500)
    },
    timeout,
  )

  it(
    'the gate matches the model on a SQLite file, with restarts',
    () => campaign('on a SQLite file', 12, inFile),
    timeout,
  )

  describe.skipIf(!postgresUrl())('on PostgreSQL', () => {
    let database: FreshDatabase
    let runs = 0
    beforeAll(async () => {
      database = await freshDatabase('model')
    })
    afterAll(() => database.drop())

    it(
      'the gate matches the model on PostgreSQL, with restarts',
      () => campaign('on PostgreSQL', 15, () => inPostgres(database.url, `run-${++runs}`)),
      timeout,
    )
  })
})
