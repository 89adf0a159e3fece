import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** An issued key that may create and lease tasks. */
export function createKey(databaseUrl: string): string {
  const args = [PROGRAM, 'keys', 'create', '--principal', 'agent:alice', '--role', 'admin', '--json']
  const printed = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, ASYNCGATE_DATABASE_URL: databaseUrl },
  })
  return JSON.parse(printed).key
}
