import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { NO_NEED } from '../../src/store/store.ts'
import { counters, NO_CHANGES } from './fixtures.ts'

/** Opens the file, commits once, reports it, and holds the file until it is killed. Requires --expose-gc. */
const [, , path = ''] = process.argv

async function commitOnce(): Promise<void> {
  const store = await openSqliteStore({ path })
  const ref = await store.tenant('child')
  const tenants = [counters(ref, { seq: 42 })]
  await store.commit({ ...NO_NEED, tenants: [ref.tenant] }, () => ({ ...NO_CHANGES, tenants }))
}

try {
  await commitOnce()
  // The store is unreachable, but the file must stay locked.
  for (let n = 0; n < 3; n++) {
    globalThis.gc?.()
    await new Promise(setImmediate)
  }
  console.log('committed')
  setInterval(() => undefined, 1_000_000)
} catch (error) {
  console.log(error instanceof Error ? error.message : String(error))
}
