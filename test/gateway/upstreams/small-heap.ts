import { fileURLToPath } from 'node:url'
import { Fault } from '../../../src/core/errors.ts'
import { fileUpstream } from '../../../src/features/upstreams/shape.ts'
import { Upstreams } from '../../../src/gateway/upstreams/upstreams.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'

/** Calls a tool that responds with 50 MB and then a small one, in a separate process. */
const store = await openSqliteStore({ path: ':memory:' })
const { tenant } = await store.tenant('default')
const program = fileURLToPath(new URL('fixture-stdio.ts', import.meta.url))
const args = ['--import', import.meta.resolve('tsx'), program, 'legacy']
const transport = { type: 'stdio', command: process.execPath, args }
const upstreams = new Upstreams({
  storage: { entries: store.entries, tenant, shared: false },
  fixed: [fileUpstream.parse({ name: 'fix', transport })],
  logger: { info: () => {}, warn: () => {} },
})
await upstreams.start()
await upstreams.call('fix', 'big', { bytes: 50_000_000 }).catch((error: unknown) => {
  console.log(error instanceof Fault ? error.code : error)
})
const answer = await upstreams.call('fix', 'echo', { text: 'still here' })
console.log(JSON.stringify(answer).includes('still here') ? 'still here' : answer)
await upstreams.close()
await store.close()
