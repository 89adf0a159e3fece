import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from '../config/database.ts'
import { growTree } from '../features/ledger-log/growth.ts'
import { messageOf } from '../util/error-message.ts'
import type { GrowthRequest, GrowthResponse } from './ledger-thread.ts'
import { openStore } from './open-store.ts'

/** The server itself reads archives, which only concerns logs that are weeks behind. */
const archive = { committedFrom: async () => [] }

const database: Database = workerData
const opened = openStore(database, { besideServer: true })

/** The code of the thread that hashes receipts. */
parentPort?.on('message', async ({ tenant, size }: GrowthRequest) => {
  let response: GrowthResponse
  try {
    response = { growth: await growTree({ log: (await opened).ledgerLog, archive }, tenant, size) }
  } catch (error) {
    response = { failure: messageOf(error) }
  }
  parentPort?.postMessage(response)
})
