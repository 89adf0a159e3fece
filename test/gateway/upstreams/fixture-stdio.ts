import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { ASKING } from './fixture-asking.ts'
import { Fixture } from './fixture-tools.ts'

/**
 * The fixture as a program: `fixture-stdio.ts ERA`. ERA is modern or legacy, and the program speaks only that era;
 * FIXTURE_LOG is the file for its events, FIXTURE_DESCRIPTION a file with the description of echo. With FIXTURE_ASKS it has
 * tools that ask questions.
 */
const [, , era] = process.argv
const {
  FIXTURE_LOG: log,
  FIXTURE_DESCRIPTION: described = '',
  FIXTURE_LIST_MS: listMs,
  FIXTURE_ASKS: asks,
} = process.env
const tell = (event: string) => log && appendFileSync(log, `${event}\n`)

if (era === 'broken') {
  process.stderr.write('It cannot start: the secret is hunter2hunter2\n')
  process.exit(3)
}

const fixture = new Fixture({
  tell,
  crash: () => process.exit(7),
  ...(existsSync(described) && { description: readFileSync(described, 'utf8') }),
  ...(listMs !== undefined && { listMs: Number(listMs) }),
  ...(asks !== undefined && { runs: ASKING }),
})

tell(`start ${process.pid}`)
console.log('A line that is not JSON, as some programs write.')
if (era === 'modern') serveStdio(() => fixture.server(), { legacy: 'reject' })
else await fixture.server().connect(new StdioServerTransport())
