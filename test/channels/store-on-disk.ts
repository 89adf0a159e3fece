import { join } from 'node:path'
import { openChannels, resultStore } from '../../src/channels/registry.ts'
import type { ResultStore } from '../../src/features/results/result-store.ts'
import { emptyFolder, type Folder } from './folder.ts'

/** A result store with the channels blob and file in an empty folder. */
export function resultsOnDisk(): { results: ResultStore; folder: Folder; blobs(): string[] } {
  const folder = emptyFolder()
  const channels = openChannels({
    blob: { folder: join(folder.path, 'blobs'), storeId: 'main' },
    file: { folder: join(folder.path, 'files') },
  })
  return {
    results: resultStore(channels, 'blob'),
    folder,
    blobs: () => folder.files().filter((name) => /^blobs\/..\/[0-9a-f]{64}$/.test(name)),
  }
}
