import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { decodeHints, encodeHints } from '../../../src/store/postgres/listen.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type Hint, NO_NEED, type Store } from '../../../src/store/store.ts'
import { NO_CHANGES, uuid } from '../../support/fixtures.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../../support/postgres.ts'

/** A hint without changes. */
const QUIET = { changes: [], at: 0 }

const changesOf = (count: number) =>
  numbers(count).map((n) => ({ task_id: uuid(n), status: 'pending_approval', fence: n }) as const)

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

/** The content of all hints, independent of how they are split into payloads. */
function content(hints: readonly Hint[]): string[] {
  return hints
    .flatMap(({ tenant, lanes, tasks, changes, at }) => [
      ...changes.map((change) => `${tenant} at ${at} ${JSON.stringify(change)}`),
      ...lanes.map((lane) => `${tenant} lane ${lane}`),
      ...tasks.map((task) => `${tenant} task ${task}`),
    ])
    .sort()
}

describe('notification payloads', () => {
  it.each([
    ['one lane', [{ tenant: 1, lanes: [7], tasks: [], ...QUIET }]],
    ['one task', [{ tenant: 2_147_483_647, lanes: [], tasks: [uuid(1)], ...QUIET }]],
    ['many lanes', [{ tenant: 1, lanes: numbers(20_000), tasks: [], ...QUIET }]],
    ['many tasks', [{ tenant: 1, lanes: [1, 2], tasks: numbers(500).map(uuid), ...QUIET }]],
    ['changes', [{ tenant: 1, lanes: [], tasks: [], changes: changesOf(500), at: 1_800_000_000_000 }]],
    [
      'all of them',
      [{ tenant: 1, lanes: numbers(200), tasks: numbers(200).map(uuid), changes: changesOf(200), at: 7 }],
    ],
    [
      'many tenants',
      numbers(500).map((tenant) => ({ tenant, lanes: [tenant], tasks: [uuid(tenant)], ...QUIET })),
    ],
  ])('payloads carry all hints within the size limit: %s', (_, hints) => {
    const payloads = encodeHints('me', hints)
    expect(payloads.filter((payload) => Buffer.byteLength(payload) >= 8_000)).toEqual([])
    expect(content(payloads.flatMap((payload) => decodeHints('you', payload)))).toEqual(content(hints))
  })

  it('no payload is sent without hints', () => {
    expect(encodeHints('me', [])).toEqual([])
    expect(encodeHints('me', [{ tenant: 1, lanes: [], tasks: [], ...QUIET }])).toEqual([])
  })

  it('payloads of the same process are ignored', () => {
    const [payload = ''] = encodeHints('me', [{ tenant: 1, lanes: [1], tasks: [], ...QUIET }])
    expect(decodeHints('me', payload)).toEqual([])
  })

  it.each(['', 'hello', '{}', 'null', '["x", 1]', '["x", [1]]', '["x", ["a", [], []]]', '["x", [1, 2, 3]]'])(
    'unknown payloads are ignored: %s',
    (payload) => {
      expect(decodeHints('me', payload)).toEqual([])
    },
  )
})

describe.skipIf(!postgresUrl())('hints between processes', () => {
  let database: FreshDatabase
  let one: Store
  let other: Store
  let tenant: number
  let heardByOne: Hint[]
  let heardByOther: Hint[]

  beforeEach(async () => {
    database = await freshDatabase('hints')
    one = await openPostgresStore({ url: database.url })
    other = await openPostgresStore({ url: database.url })
    tenant = (await one.tenant('test')).tenant
    heardByOne = []
    heardByOther = []
    one.listen((hint) => heardByOne.push(hint))
    other.listen((hint) => heardByOther.push(hint))
    await vi.waitFor(async () => expect(await listeners()).toHaveLength(2), { timeout: 5_000 })
  })
  afterEach(async () => {
    await Promise.all([one.close(), other.close()])
    await database.drop()
  })

  const query = async <Row extends object>(text: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const { rows } = await client.query<Row>(text)
    await client.end()
    return rows
  }
  const listeners = () =>
    query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'asyncgate' AND query LIKE 'LISTEN%'`,
    )
  const sendHints = (store: Store, hints: readonly Hint[], seq: number) =>
    store.commit({ ...NO_NEED, tenants: [tenant] }, ({ tenants }) => ({
      ...NO_CHANGES,
      tenants: tenants.map((row) => ({ ...row, seq })),
      hints,
    }))

  it('hints arrive at the other process and not at the sender', async () => {
    const hint = { tenant, lanes: [3], tasks: [uuid(1)], ...QUIET }
    const answer = { tenant, lanes: [4], tasks: [], ...QUIET }
    await sendHints(one, [hint], 1)
    await vi.waitFor(() => expect(heardByOther).toEqual([hint]), { timeout: 5_000 })
    await sendHints(other, [answer], 2)
    await vi.waitFor(() => expect(heardByOne).toEqual([answer]), { timeout: 5_000 })
    expect(heardByOther).toEqual([hint])
  })

  it('hints contain changes only while another server follows', async () => {
    const hint = { tenant, lanes: [3], tasks: [], changes: changesOf(2), at: 7 }
    await sendHints(one, [hint], 1)
    await vi.waitFor(() => expect(heardByOther).toMatchObject([{ lanes: [3], changes: [] }]), {
      timeout: 5_000,
    })
    await other.follow()
    await other.follow()
    await sendHints(one, [hint], 2)
    await vi.waitFor(() => expect(heardByOther.at(-1)).toEqual(hint), { timeout: 5_000 })
    await sendHints(other, [hint], 3)
    await vi.waitFor(() => expect(heardByOne).toMatchObject([{ lanes: [3], changes: [] }]), {
      timeout: 5_000,
    })
    await query(`UPDATE followers SET until = 0`)
    await sendHints(one, [{ ...hint, lanes: [4] }], 4)
    await vi.waitFor(() => expect(heardByOther.at(-1)).toMatchObject({ lanes: [4], changes: [] }), {
      timeout: 5_000,
    })
    await one.follow()
    expect(await query('SELECT count(*)::int AS count FROM followers')).toEqual([{ count: 1 }])
  })

  it('hints arrive after their commit is visible', async () => {
    const seen: number[] = []
    other.listen(async () => seen.push((await other.reads.counters(tenant)).seq))
    await sendHints(one, [{ tenant, lanes: [1], tasks: [], ...QUIET }], 5)
    await vi.waitFor(() => expect(seen).toEqual([5]), { timeout: 5_000 })
  })

  it('all hints of a large batch arrive', async () => {
    const hints = numbers(100).map((n) => ({
      tenant: n,
      lanes: numbers(30),
      tasks: numbers(30).map(uuid),
      ...QUIET,
    }))
    await sendHints(one, hints, 1)
    await vi.waitFor(() => expect(content(heardByOther)).toEqual(content(hints)), { timeout: 5_000 })
  })

  it('a failed batch sends no hints', async () => {
    const failing = one.commit({ ...NO_NEED, tenants: [tenant] }, () => {
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    await sendHints(one, [{ tenant, lanes: [2], tasks: [], ...QUIET }], 1)
    await vi.waitFor(() => expect(heardByOther).toEqual([{ tenant, lanes: [2], tasks: [], ...QUIET }]), {
      timeout: 5_000,
    })
  })

  it('hints arrive again after the listening connection was terminated', async () => {
    const before = await listeners()
    await query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'asyncgate'`,
    )
    let seq = 0
    await vi.waitFor(
      async () => {
        await sendHints(one, [{ tenant, lanes: [9], tasks: [], ...QUIET }], ++seq)
        expect(heardByOther).toContainEqual({ tenant, lanes: [9], tasks: [], ...QUIET })
      },
      { timeout: 10_000, interval: 50 },
    )
    const after = await listeners()
    expect(after.filter(({ pid }) => before.some((old) => old.pid === pid))).toEqual([])
  })
})
