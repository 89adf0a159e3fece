import { expect } from 'vitest'
import { ROOT, type Served } from './support.ts'

const CAROL = '/v1/principals/human/carol'
const ERASED = { principal: 'human:carol', requested_by: 'human:root', keys: 0, tasks: 0, receipts: 0 }

const erase = ({ post }: Served) => post(`${CAROL}/erase`, ROOT)

/** The operations on the data of principals. */
export const privacyChecks = {
  async export_principal({ post }: Served) {
    expect(await post(`${CAROL}/export`, ROOT)).toMatchObject({
      status: 200,
      body: { records: [], next_cursor: 'identity:' },
    })
  },

  async erase_principal(served: Served) {
    expect(await erase(served)).toMatchObject({ status: 200, body: { ...ERASED, state: 'running' } })
  },

  async get_erasure(served: Served) {
    await erase(served)
    expect(await served.get(`${CAROL}/erasure`, { ...ROOT, wait_seconds: '20' })).toMatchObject({
      status: 200,
      body: { ...ERASED, state: 'done' },
    })
  },
}
