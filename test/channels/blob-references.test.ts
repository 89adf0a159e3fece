import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { BlobReferences } from '../../src/channels/blob-references.ts'

/** A hook that runs just before the next rename. */
const meanwhile = vi.hoisted(() => ({ run: undefined as (() => Promise<void>) | undefined }))

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>()
  return {
    ...real,
    async rename(from: string, to: string) {
      const run = meanwhile.run
      meanwhile.run = undefined
      await run?.()
      return real.rename(from, to)
    },
  }
})

let folder: string
let blob: string
let references: BlobReferences
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'asyncgate-refs-'))
  blob = join(folder, 'blob')
  references = new BlobReferences(blob)
  writeFileSync(blob, 'content')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('a blob without references is removed', async () => {
  await references.add('a', '1')
  await references.collect()
  expect(existsSync(blob)).toBe(true)
  await references.remove('a', undefined)
  await references.collect()
  expect(existsSync(blob)).toBe(false)
})

it('a blob that is put again while it is being removed is kept', async () => {
  meanwhile.run = () => references.add('b', '1')
  await references.collect()
  expect(meanwhile.run).toBeUndefined()
  expect(existsSync(blob)).toBe(true)
})

it('one of two references of a task can be removed', async () => {
  await references.add('a', '1')
  await references.add('a', '2')
  await references.remove('a', '1')
  expect(await references.has('a')).toBe(true)
  await references.remove('a', 'never there')
  expect(await references.has('a')).toBe(true)
  await references.remove('a', '2')
  expect(await references.has('a')).toBe(false)
  await references.remove('a', undefined)
})
