import { parseArgs } from 'node:util'
import { against } from './against/index.ts'
import { UsageError } from './arguments.ts'
import { auth } from './auth/index.ts'
import { console as consoleSuite } from './console/index.ts'
import { engine } from './engine/index.ts'
import { gateway } from './gateway/index.ts'
import { growth } from './growth/index.ts'
import { http } from './http/index.ts'
import { ledger } from './ledger/index.ts'
import { peers } from './peers/index.ts'
import { Report } from './report.ts'
import { retention } from './retention/index.ts'
import { workers } from './worker/index.ts'

type Suite = (report: Report, args: readonly string[]) => Promise<void>

const SUITES: Record<string, Suite> = {
  engine: withoutOptions(engine),
  http: withoutOptions(http),
  auth,
  console: consoleSuite,
  worker: withoutOptions(workers),
  gateway: withoutOptions(gateway),
  against: withoutOptions((report, [ref, suite]) => against(report, ref ?? 'HEAD', suite)),
  peers,
  growth,
  ledger,
  retention: withoutOptions(retention),
}

/** Refuses options, and passes the other arguments on. */
function withoutOptions(suite: Suite): Suite {
  return (report, args) => suite(report, parseArgs({ args: [...args], allowPositionals: true }).positionals)
}

function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}

const args = process.argv.slice(2)
const jsonAt = args.indexOf('--json')
const [, json] = jsonAt < 0 ? [] : args.splice(jsonAt, 2)
if (jsonAt >= 0 && json === undefined) {
  console.error('--json needs a file')
  process.exit(2)
}
const name = args.shift() ?? 'engine'
const suite = SUITES[name]
if (suite === undefined) {
  console.error(`There is no suite "${name}". Suites: ${Object.keys(SUITES).join(', ')}`)
  process.exit(2)
}
const report = new Report()
try {
  await suite(report, args)
} catch (error) {
  if (!isUsageError(error)) throw error
  console.error(error.message)
  process.exit(2)
}
if (json !== undefined) report.write(json, name)
if (report.missed.length > 0) {
  console.error(`\nMissed: ${report.missed.map((row) => row.name).join('; ')}`)
  process.exitCode = 1
}
