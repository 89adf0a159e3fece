/**
 * Writes the generated part of docs/protocol.md from the catalogue of operations.
 *
 *   node --import tsx scripts/protocol.ts           writes it
 *   node --import tsx scripts/protocol.ts --check   fails if it does not match the catalogue
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { updatedPage } from './protocol/page.ts'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const path = new URL('../docs/protocol.md', import.meta.url)
const page = readFileSync(path, 'utf8')
const updated = await updatedPage(page)

if (!values.check) {
  writeFileSync(path, updated)
} else if (page !== updated) {
  console.error('docs/protocol.md is not what the catalogue says. Run: node --import tsx scripts/protocol.ts')
  process.exitCode = 1
}
