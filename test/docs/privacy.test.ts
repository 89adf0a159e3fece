import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { markdownRetention, RETENTION } from '../../src/config/retention.ts'
import { TABLE } from '../../src/config/table.ts'
import { repositoryText } from '../core/documents.ts'

const STORES = ['sqlite', 'postgres']

function tablesOf(store: string): string[] {
  const folder = `src/store/${store}/migrations`
  const files = readdirSync(new URL(`../../${folder}/`, import.meta.url))
  return files.flatMap((file) =>
    Array.from(
      repositoryText(`${folder}/${file}`).matchAll(/^CREATE TABLE (\w+)/gm),
      ([, name = '']) => name,
    ),
  )
}

describe('the retention table', () => {
  it('docs/privacy.md has it', () => {
    expect(repositoryText('docs/privacy.md')).toContain(`\n\n${markdownRetention()}\n\n`)
  })

  it.each(STORES)('every table of %s has a retention', (store) => {
    const known = new Set(RETENTION.flatMap(({ tables }) => tables))
    const tables = tablesOf(store)
    expect(tables).toContain('audit_events')
    expect(tables.filter((table) => !known.has(table))).toEqual([])
  })

  it('names no table that does not exist', () => {
    const existing = new Set([...STORES.flatMap(tablesOf), 'migrations'])
    expect(RETENTION.flatMap(({ tables }) => tables).filter((table) => !existing.has(table))).toEqual([])
  })

  it('a retention that a setting changes is the default of that setting', () => {
    const periods = RETENTION.flatMap(({ setting, retention }) =>
      setting === undefined ? [] : [{ setting, retention }],
    )
    expect(periods.length).toBeGreaterThan(0)
    for (const { setting, retention } of periods) {
      const row = TABLE.find(({ name }) => name === setting)
      expect(`${row?.fallback} days`).toBe(retention)
    }
  })
})
