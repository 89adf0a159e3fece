import { diskArchive } from '../../../src/channels/archive-store.ts'
import { openGate } from '../../../src/features/gate.ts'
import { override } from '../../support/steps.ts'
import { openStore, type Place } from '../place.ts'

export interface ArchiverOptions {
  readonly place: Place
  readonly folder: string
  readonly now: number
  /** How many transactions have moved tasks to the archive when the process is killed. */
  readonly moved: number
}

/** Applies the retention, and is killed after the archive file is written and before the next rows are removed. */
const { place, folder, now, moved }: ArchiverOptions = JSON.parse(process.argv[2] ?? '')

const store = await openStore(place, now)
let calls = 0
const { retention } = store
const gate = openGate({
  store: override(store, {
    retention: {
      ...retention,
      async archive(...given) {
        if (calls++ === moved) {
          process.kill(process.pid, 'SIGKILL')
          // Nothing more may happen until the signal arrives.
          await new Promise(() => {})
        }
        return retention.archive(...given)
      },
    },
  }),
  settings: { task_retention_days: 7 },
  retention: { receiptDays: 30, archive: diskArchive(folder) },
  sweeping: false,
})
await gate.sweepRetention()
