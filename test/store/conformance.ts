import { afterEach, beforeEach, describe } from 'vitest'
import type { Store, TenantRef } from '../../src/store/store.ts'
import { describeAudit } from './conformance/audit.ts'
import { describeClaiming } from './conformance/claiming.ts'
import { describeClock } from './conformance/clock.ts'
import { describeCommits } from './conformance/commits.ts'
import { describeEntries } from './conformance/entries.ts'
import { describeErasure } from './conformance/erasure.ts'
import { describeHistory } from './conformance/history.ts'
import { describeHolders } from './conformance/holders.ts'
import { describeInbox } from './conformance/inbox.ts'
import { describeKeys } from './conformance/keys.ts'
import { describeLogs } from './conformance/logs.ts'
import { describeOutbox } from './conformance/outbox.ts'
import { describePersistence } from './conformance/persistence.ts'
import { describeQuestions } from './conformance/questions.ts'
import { describeReceipts } from './conformance/receipts.ts'
import { describeScans } from './conformance/scans.ts'
import { describeTasks } from './conformance/tasks.ts'
import { describeTenants } from './conformance/tenants.ts'
import { describeUsage } from './conformance/usage.ts'

export interface OpenOptions {
  readonly now?: () => number
}

/** A separate database of one test, which can be opened again after its store was closed. */
export interface TestDatabase {
  open(options?: OpenOptions): Promise<Store>
  cleanup(): Promise<void>
}

/** The store of a fresh database with one tenant. */
export interface Subject {
  readonly store: Store
  readonly tenant: number
  readonly ref: TenantRef
  /** Closes the store and opens the same database again. */
  reopen(options?: OpenOptions): Promise<void>
}

/** The conformance suite of all stores. Each implementation passes a function that creates fresh databases. */
export function describeStore(name: string, fresh: () => Promise<TestDatabase>): void {
  describe(name, () => {
    let database: TestDatabase
    let store: Store
    let ref: TenantRef

    beforeEach(async () => {
      database = await fresh()
      store = await database.open()
      ref = await store.tenant('test')
    })
    afterEach(async () => {
      await store.close()
      await database.cleanup()
    })

    const subject: Subject = {
      get store() {
        return store
      },
      get tenant() {
        return ref.tenant
      },
      get ref() {
        return ref
      },
      async reopen(options) {
        await store.close()
        store = await database.open(options)
      },
    }
    describeTenants(subject)
    describeTasks(subject)
    describeQuestions(subject)
    describeKeys(subject)
    describeLogs(subject)
    describeAudit(subject)
    describeErasure(subject)
    describeUsage(subject)
    describeHistory(subject)
    describeOutbox(subject)
    describeHolders(subject)
    describeEntries(subject)
    describeClaiming(subject)
    describeReceipts(subject)
    describeInbox(subject)
    describeScans(subject)
    describeCommits(subject)
    describePersistence(subject)
    describeClock(subject)
  })
}
