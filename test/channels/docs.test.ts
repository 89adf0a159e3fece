import { expect, it, onTestFinished } from 'vitest'
import { databaseChannel } from '../../src/channels/database.ts'
import { openChannels } from '../../src/channels/registry.ts'
import { TABLE } from '../../src/config/table.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { codeWords, markdownTable, repositoryText } from '../core/documents.ts'

const page = repositoryText('docs/results.md')

it('docs/results.md lists every channel with its capabilities', async () => {
  const store = await openSqliteStore({ path: ':memory:' })
  onTestFinished(() => store.close())
  const channels = openChannels({
    blob: { folder: '/x' },
    file: { folder: '/x' },
    s3: { bucket: 'b' },
    http: { putUrl: 'https://files.example' },
    gist: { token: 't' },
    ofTenant: (tenant) => [databaseChannel({ entries: store.entries, tenant })],
  })
  const said = markdownTable(page, 'Channel').map((row) => [
    ...codeWords(row.Channel ?? ''),
    row['Largest payload'],
    row.Streams,
    row['Readable by people'],
  ])
  const word = (yes: boolean) => (yes ? 'yes' : 'no')
  const known = channels.names(1).map((name) => {
    const can = channels.find(1, name)?.capabilities()
    const largest = can?.max_size_bytes === null ? 'no limit' : String(can?.max_size_bytes)
    return [name, largest, word(can?.supports_streaming === true), word(can?.human_readable === true)]
  })
  expect(said).toEqual(known)
})

it('docs/results.md names only settings and errors that exist', () => {
  const settings = [...page.matchAll(/ASYNCGATE_[A-Z0-9_]+/g)].map(([name]) => name)
  const known = TABLE.map((row) => row.variable)
  expect(settings.filter((name) => !known.includes(name) && name !== 'ASYNCGATE_EGRESS_')).toEqual([])
  const codes = [...page.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, code = '']) => code)
  expect(codes.length).toBeGreaterThan(3)
  expect(codes.filter((code) => !(code in ERRORS) && !known.includes(code))).toEqual([])
})
