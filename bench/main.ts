import { parseArgs } from 'node:util'
import { against } from './against/index.ts'
import { engine } from './engine/index.ts'
import { gateway } from './gateway/index.ts'
import { http } from './http/index.ts'
import { Report } from './report.ts'
import { workers } from './worker/index.ts'

type Suite = (report: Report, args: readonly string[]) => Promise<void>

const SUITES: Record<string, Suite> = {
  engine,
  http,
  worker: workers,
  gateway,
  against: (report, [ref, suite]) => against(report, ref ?? 'HEAD', suite),
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' } },
})
const name = positionals[0] ?? 'engine'
const suite = SUITES[name]
if (suite === undefined) {
  console.error(`There is no suite "${name}". Suites: ${Object.keys(SUITES).join(', ')}`)
  process.exit(2)
}
const report = new Report()
await suite(report, positionals.slice(1))
if (values.json !== undefined) report.write(values.json, name)
if (report.missed.length > 0) {
  console.error(`\nMissed: ${report.missed.map((row) => row.name).join('; ')}`)
  process.exitCode = 1
}
