import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { tenantTable } from '../../src/config/tenants.ts'
import { readUpstreamsFile } from '../../src/server/operator-files.ts'
import { repositoryText } from '../core/documents.ts'
import { blocksOf } from '../docs/markdown.ts'
import { folder } from '../gateway/upstreams/support.ts'

const page = repositoryText('docs/tenants.md')
const files = blocksOf(page).flatMap(({ language, text }) => (language === 'yaml' ? [text] : []))

it('the settings in docs/tenants.md exist', () => {
  const items: Readonly<Record<string, unknown>>[] = parse(files[0] ?? '')
  const names = items.flatMap((item) => Object.keys(item)).filter((name) => name !== 'tenant')
  expect(names.length).toBeGreaterThan(5)
  const known = Object.keys(tenantTable.shape)
  expect(names.map((name) => name.replace(/_file$/, '')).filter((name) => !known.includes(name))).toEqual([])
})

it('the upstreams file in docs/tenants.md is valid', () => {
  const path = join(folder(), 'upstreams.yaml')
  writeFileSync(path, files[1] ?? '')
  expect(readUpstreamsFile(path)).toMatchObject([{ tenant: 'acme', record: { name: 'files' } }])
})
