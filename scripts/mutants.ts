import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { MUTANTS, type Mutant } from './mutants/list.ts'

/**
 * Mutation test: applies one known fault after the other to a copy of the project and runs the tests without PostgreSQL.
 *
 *   npm run mutants                        all mutants
 *   npm run mutants -- renew lease         mutants whose name contains one of these words
 *   npm run mutants -- --tests test/model  only these tests
 */
const TESTS = 'test/core,test/engine,test/features,test/model,test/simulation'
const COPIED = ['src', 'test', 'scripts', 'docs', 'package.json', 'tsconfig.json', 'biome.json', '.gitignore']
const WANTED_SHARE = 0.9
const AT_ONCE = 2
const MIN_LIMIT_MS = 120_000

const root = fileURLToPath(new URL('..', import.meta.url))
/** A snapshot of the project, so that edits during the run have no effect. */
const original = mkdtempSync(join(tmpdir(), 'asyncgate-original-'))
const running = new Set<ChildProcess>()

interface Verdict {
  readonly caughtBy: string | null
  readonly seconds: number
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string', default: TESTS } },
})
const tests = values.tests.split(',').filter((path) => existsSync(join(root, path)))
const chosen = MUTANTS.filter(
  ({ name }) => positionals.length === 0 || positionals.some((word) => name.includes(word)),
)

process.on('SIGINT', () => {
  for (const child of running) stop(child)
  process.exit(130)
})
process.on('exit', () => rmSync(original, { recursive: true, force: true }))
copyProject(root, original)
process.exitCode = await main()

async function main(): Promise<number> {
  const stale = MUTANTS.filter((mutant) => occurrences(mutant) !== 1)
  for (const { name, file, find } of stale) console.error(`STALE     ${name}: not once in ${file}: ${find}`)
  if (stale.length > 0) return 1

  const healthy = await examine(undefined, Number.POSITIVE_INFINITY)
  if (healthy.caughtBy !== null) {
    console.error(`The tests fail without any mutant: ${healthy.caughtBy}`)
    return 1
  }
  console.log(`${'no mutant'.padEnd(9)} ${healthy.seconds.toFixed(0).padStart(4)} s`)

  const limit = Math.max(MIN_LIMIT_MS, healthy.seconds * 3000)
  const survivors: Mutant[] = []
  const queue = [...chosen]
  const work = async () => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const { caughtBy, seconds } = await examine(mutant, limit)
      if (caughtBy === null) survivors.push(mutant)
      const time = `${seconds.toFixed(0).padStart(4)} s`
      console.log(
        `${caughtBy === null ? 'SURVIVED' : 'caught  '}  ${time}  ${mutant.name}  (${caughtBy ?? mutant.file})`,
      )
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))

  const caught = chosen.length - survivors.length
  const share = chosen.length === 0 ? 1 : caught / chosen.length
  console.log(`\n${caught} of ${chosen.length} caught (${(share * 100).toFixed(0)} %)`)
  return share >= WANTED_SHARE ? 0 : 1
}

function occurrences({ file, find }: Mutant): number {
  return readFileSync(join(original, file), 'utf8').split(find).length - 1
}

/** Runs the tests on a copy with this fault. */
async function examine(mutant: Mutant | undefined, limitMs: number): Promise<Verdict> {
  const copy = mkdtempSync(join(tmpdir(), 'asyncgate-mutant-'))
  const started = performance.now()
  const seconds = () => (performance.now() - started) / 1000
  try {
    copyProject(original, copy)
    if (mutant !== undefined) plant(mutant, copy)
    const caughtBy = await runTests(copy, limitMs)
    return { caughtBy, seconds: seconds() }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function copyProject(from: string, to: string): void {
  for (const path of COPIED) {
    if (existsSync(join(from, path))) cpSync(join(from, path), join(to, path), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'))
}

function plant({ file, find, replace }: Mutant, copy: string): void {
  const path = join(copy, file)
  const [before = '', after = ''] = readFileSync(path, 'utf8').split(find)
  writeFileSync(path, before + replace + after)
}

/** The first test file that fails, or null. */
async function runTests(copy: string, limitMs: number): Promise<string | null> {
  const report = join(copy, 'report.json')
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      ...tests,
      '--config=scripts/mutants/vitest.config.ts',
      '--bail=1',
      '--reporter=json',
      `--outputFile=${report}`,
    ],
    { cwd: copy, stdio: 'ignore', detached: true },
  )
  running.add(child)
  const ended = once(child, 'exit')
  let isLate = false
  const timer = Number.isFinite(limitMs)
    ? setTimeout(() => {
        isLate = true
        stop(child)
      }, limitMs)
    : undefined
  const [code] = await ended
  clearTimeout(timer)
  running.delete(child)
  if (isLate) return 'time-out'
  return code === 0 ? null : failedFile(copy, report)
}

function failedFile(copy: string, report: string): string {
  if (!existsSync(report)) return 'no test file ran'
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { name: string; status: string }[]
  }
  const failed = testResults.find(({ status }) => status === 'failed')
  return failed === undefined ? 'an error outside the tests' : relative(copy, failed.name)
}

/** Ends the process and its descendants: vitest workers are separate processes. */
function stop(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}
