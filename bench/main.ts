import { parseArgs } from 'node:util'
import { engine } from './engine/index.ts'
import { gateway } from './gateway/index.ts'
import { http } from './http/index.ts'
import { Report } from './report.ts'
import { workers } from './worker/index.ts'

const SUITES: Record<string, (report: Report) => Promise<void>> = {
  engine,
  http,
  worker: workers,
  gateway,
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
await suite(report)
if (values.json !== undefined) report.write(values.json, name)
if (report.missed.length > 0) {
  console.error(`\nMissed: ${report.missed.map((row) => row.name).join('; ')}`)
  process.exitCode = 1
}
