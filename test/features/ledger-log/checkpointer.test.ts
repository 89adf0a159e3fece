import { describe, expect, it } from 'vitest'
import { Checkpointer } from '../../../src/features/ledger-log/checkpointer.ts'
import type { StoredCheckpoint } from '../../../src/store/ledger-log.ts'
import type { TenantRef } from '../../../src/store/store.ts'

const INTERVAL_MS = 10_000

/** A checkpointer over two tenants that records whose logs it extends. */
function setUp() {
  const state = { now: 0, extended: [] as string[], failing: '', errors: [] as unknown[] }
  const latest = new Map<number, StoredCheckpoint>()
  const tenants: TenantRef[] = ['a', 'b'].map((name, i) => ({ tenant: i + 1, name, salt: '' }))
  const checkpointer = new Checkpointer(
    {
      logs: {
        latest: async ({ tenant }) => latest.get(tenant),
        async extend({ tenant, name }) {
          if (name === state.failing) throw new Error(`no ${name}`)
          state.extended.push(name)
          const made = { size: 1, created_at: state.now, note: '' }
          latest.set(tenant, made)
          return made
        },
      },
      store: { tenants: async () => tenants, now: async () => state.now },
      report: (error) => state.errors.push(error),
    },
    INTERVAL_MS / 1000,
  )
  const round = async () => {
    state.extended = []
    await checkpointer.run()
    return state.extended
  }
  return { state, checkpointer, round }
}

describe('the checkpointer', () => {
  it('extends the logs of all tenants after its start, then of those with new receipts', async () => {
    const { state, checkpointer, round } = setUp()
    expect(await round()).toEqual(['a', 'b'])
    state.now += INTERVAL_MS
    expect(await round()).toEqual([])
    checkpointer.committed(2)
    expect(await round()).toEqual(['b'])
    state.now += INTERVAL_MS
    expect(await round()).toEqual([])
  })

  it('leaves a log with a recent checkpoint to a later round', async () => {
    const { state, checkpointer, round } = setUp()
    await round()
    checkpointer.committed(1)
    expect(await round()).toEqual([])
    state.now += INTERVAL_MS
    expect(await round()).toEqual(['a'])
  })

  it('tries a log again that it could not extend, and extends the others meanwhile', async () => {
    const { state, round } = setUp()
    state.failing = 'a'
    expect(await round()).toEqual(['b'])
    expect(state.errors).toEqual([new Error('no a')])
    state.failing = ''
    expect(await round()).toEqual(['a'])
  })
})
