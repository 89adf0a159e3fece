/**
 * Writes the generated parts of docs/protocol.md and docs/keys.md from the catalogue of operations.
 *
 *   node --import tsx scripts/protocol.ts           writes them
 *   node --import tsx scripts/protocol.ts --check   fails if they do not match the catalogue
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { updatedPage } from './protocol/page.ts'
import { updatedKeysPage } from './protocol/permissions.ts'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
await update('protocol.md', updatedPage)
await update('keys.md', updatedKeysPage)

async function update(name: string, generate: (page: string) => string | Promise<string>): Promise<void> {
  const path = new URL(`../docs/${name}`, import.meta.url)
  const page = readFileSync(path, 'utf8')
  const updated = await generate(page)
  if (!values.check) return writeFileSync(path, updated)
  if (page === updated) return
  console.error(`docs/${name} is not what the catalogue says. Run: node --import tsx scripts/protocol.ts`)
  process.exitCode = 1
}
