import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { diskArchive, s3Archive } from '../../src/channels/archive-store.ts'
import type { ArchiveStore } from '../../src/features/retention/port.ts'
import { S3_KEYS, type S3Server, startS3 } from '../support/s3.ts'

const CONTENT = Buffer.from('some receipts')
const FILE = hash('sha256', CONTENT)

describe('archive stores', () => {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-archive-'))
  let s3: S3Server
  const stores: Record<string, () => ArchiveStore> = {
    disk: () => diskArchive(folder),
    s3: () =>
      s3Archive({
        bucket: 'results',
        endpoint: s3.endpoint,
        region: S3_KEYS.region,
        prefix: 'archive/',
        pathStyle: true,
        credentials: S3_KEYS,
      }),
  }
  beforeAll(async () => {
    s3 = await startS3()
  })
  afterAll(async () => {
    await s3.close()
    rmSync(folder, { recursive: true })
  })

  it.each(Object.keys(stores))('a file in %s is stored, read and removed, also repeatedly', async (name) => {
    const store = stores[name]?.()
    expect(await store?.get(FILE)).toBeUndefined()
    await store?.put(FILE, CONTENT)
    await store?.put(FILE, CONTENT)
    expect(await store?.get(FILE)).toEqual(CONTENT)
    await store?.remove(FILE)
    await store?.remove(FILE)
    expect(await store?.get(FILE)).toBeUndefined()
  })

  it('a file on disk has its name only when it is complete', async () => {
    const store = diskArchive(folder)
    await store.put(FILE, CONTENT)
    expect(readdirSync(join(folder, FILE.slice(0, 2)))).toEqual([`${FILE}.jsonl.gz`])
    expect(readdirSync(join(folder, '.partial'))).toEqual([])
  })
})
