import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from '../config/database.ts'
import { growTree } from '../features/ledger-log/growth.ts'
import { messageOf } from '../util/error-message.ts'
import type { GrowthRequest, GrowthResponse } from './ledger-thread.ts'
import { openStore } from './open-store.ts'

/** The server itself reads archives, which only concerns logs that are weeks behind. */
const archive = { committedFrom: async () => [] }

/** Nothing else waits for this thread. */
const ROWS_PER_TURN = 32

const database: Database = workerData
const opened = openStore(database, { besideServer: true })

/** The code of the thread that hashes receipts. */
parentPort?.on('message', async ({ tenant, from }: GrowthRequest) => {
  let response: GrowthResponse
  try {
    const { ledgerLog: log } = await opened
    response = { growth: await growTree({ log, archive, rowsPerTurn: ROWS_PER_TURN }, tenant, from) }
  } catch (error) {
    response = { failure: messageOf(error) }
  }
  parentPort?.postMessage(response)
})
