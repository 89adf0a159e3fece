/**
 * Writes src/client/operations.ts, the types and routes of the client, from the catalogue of operations.
 *
 *   node --import tsx scripts/client-types.ts           writes it
 *   node --import tsx scripts/client-types.ts --check   fails if it does not match the catalogue
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { operationsFile } from './client-types/file.ts'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const path = new URL('../src/client/operations.ts', import.meta.url)
const updated = operationsFile()

if (!values.check) {
  writeFileSync(path, updated)
} else if (readFileSync(path, 'utf8') !== updated) {
  console.error('src/client/operations.ts is not what the catalogue says. Run: npm run client-types')
  process.exitCode = 1
}
