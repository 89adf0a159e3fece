/** Access to the official conformance suite of MCP and its results. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'

export const run = promisify(execFile)
export const here = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
export const SUITE = 'node_modules/@modelcontextprotocol/conformance'
export const SCRIPT = here(`${SUITE}/dist/index.js`)

const Checks = z.array(z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }))
export type Checks = z.infer<typeof Checks>

/** The suite needs Node 22; on an older version it runs under the npm package `node`. */
export async function suiteNode(): Promise<string> {
  if (Number.parseInt(process.versions.node, 10) >= 22) return process.execPath
  const { stdout } = await run('npx', ['--yes', '-p', 'node@24', 'node', '-p', 'process.execPath'])
  return stdout.trim()
}

/**
 * Runs the suite with a folder for its results, and returns the checks of each executed scenario. The names of results
 * begin with `prefix`.
 */
export async function collectChecks(
  prefix: string,
  execute: (folder: string) => Promise<unknown>,
): Promise<Map<string, Checks>> {
  const results = mkdtempSync(join(tmpdir(), 'conformance-'))
  try {
    await execute(results)
    return new Map(
      readdirSync(results).flatMap((folder) => {
        const file = join(results, folder, 'checks.json')
        // A skipped scenario leaves an empty folder.
        if (!existsSync(file)) return []
        const scenario = folder.slice(prefix.length).replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '')
        return [[scenario, Checks.parse(JSON.parse(readFileSync(file, 'utf8')))]]
      }),
    )
  } finally {
    rmSync(results, { recursive: true, force: true })
  }
}

export const count = (checks: Checks, status: string) =>
  checks.filter((check) => check.status === status).length

/** Why a scenario does not count as passed; undefined if it does. */
export function problem(checks: Checks | undefined): string | undefined {
  if (checks === undefined) return 'did not run'
  const failures = checks.filter((check) => check.status === 'FAILURE')
  if (failures.length > 0) return failures.map((check) => `${check.id}: ${check.errorMessage}`).join('; ')
  return count(checks, 'SUCCESS') === 0 ? 'checked nothing' : undefined
}
