import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { NO_NEED } from '../../../src/store/store.ts'
import { NO_CHANGES } from '../../support/fixtures.ts'
import { onFinishRequest } from '../../support/processes.ts'

/** A server that stops in the middle of its first transaction, and prints the outcome after it was resumed. */
const { url }: { url: string } = JSON.parse(process.argv[2] ?? '')

const store = await openPostgresStore({ url })
const { tenant } = await store.tenant('test')
let decided = 0
onFinishRequest(() => store.close())
await store.commit({ ...NO_NEED, tenants: [tenant] }, ({ tenants }) => {
  decided += 1
  if (decided === 1) {
    console.log('stopping')
    process.kill(process.pid, 'SIGSTOP')
  }
  return { ...NO_CHANGES, tenants: tenants.map((row) => ({ ...row, seq: row.seq + 1 })) }
})
console.log(`committed after ${decided}`)
