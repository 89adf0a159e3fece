import { setImmediate as immediate } from 'node:timers/promises'
import type pg from 'pg'
import type { Question } from '../../core/question.ts'
import type { TaskSpec } from '../../core/task.ts'
import type { Tenant } from '../../core/world.ts'
import type { Random } from '../../util/random.ts'
import { Known } from '../layout/known.ts'
import { rowsOf } from '../layout/rows.ts'
import { type TaskRow, taskSpec } from '../layout/task-head.ts'
import {
  type Changes,
  type Committed,
  emptyLoaded,
  type Hint,
  isNeed,
  type Loaded,
  type Need,
  StoreError,
} from '../store.ts'
import { arrayOf } from './arrays.ts'
import { parameters } from './columns.ts'
import { ignore, isLost, pipelined, run, settled } from './database.ts'
import { commitFailure, failure } from './failure.ts'
import type { Listener } from './listen.ts'
import { loadDone, loads, loadsOf } from './load.ts'
import { SEQ_KEY, TASK_KEY } from './shapes.ts'
import { READ_TIME } from './time.ts'
import { writes, writesOf } from './write.ts'

export interface CommitDeps {
  /** Instead of the database's clock. */
  readonly now: (() => number) | undefined
  /** Raises the database's time to the last commit, in a separate transaction. */
  readonly catchUp: () => Promise<void>
  readonly listener: Pick<Listener, 'token' | 'encode'>
  readonly random: Random
}

/** More looks mean that `decide` will never be content. */
const MAX_LOAD_ROUNDS = 16

/** A segment fits on a page of the database. */
const MAX_SEGMENT = 7_000

/** A transaction that takes longer may have been ended by the database. */
const LONG_MS = 500

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'
const SEE_TENANTS = { name: 'see_tenants', text: `SELECT set_config('asyncgate.tenants', $1, true)` }
const LOCK_TENANTS = {
  name: 'lock_tenants',
  text: `SELECT tenant, salt, seq, clock, open_tasks, active_leases, ended_tasks, receipt_bytes, lanes,
           lanes_version, committed_at FROM tenants
         WHERE tenant = ANY ($1::int[]) ORDER BY tenant FOR UPDATE`,
}
const NOTIFY = {
  name: 'notify',
  text: `SELECT pg_notify('asyncgate', payload) FROM unnest($1::text[]) payload`,
}

/** One transaction on a connection that is free: one round trip to look, one to write and commit. */
export async function commit(
  client: pg.Client,
  need: Need,
  decide: (loaded: Loaded) => Changes | Need,
  deps: CommitDeps,
): Promise<Committed> {
  const loaded = emptyLoaded(0)
  const known = new Known()
  const seen: Seen = { time: 0, committed: 0, followed: false }
  let wanted = need
  for (loaded.looks = 1; loaded.looks <= MAX_LOAD_ROUNDS; loaded.looks++) {
    const askedAt = performance.now()
    await look(client, wanted, { loaded, known }, seen, deps)
    const decided = decide(loaded)
    if (!isNeed(decided)) return write(client, decided, { loaded, known }, seen, deps, askedAt)
    wanted = decided
  }
  throw new Error(`after ${MAX_LOAD_ROUNDS} looks something is still missing`)
}

async function look(
  client: pg.Client,
  need: Need,
  { loaded, known }: Found,
  seen: Seen,
  { now, catchUp, listener: { token } }: CommitDeps,
): Promise<void> {
  const first = loaded.looks === 1
  const locked = loaded.tenants.map(({ tenant }) => tenant)
  const fresh = need.tenants.filter((tenant) => !locked.includes(tenant))
  const calls = loadsOf(need, loaded, known, now?.() ?? null)
  try {
    await settled(
      pipelined(client, () => [
        ...(first ? [client.query(BEGIN)] : []),
        ...(first || fresh.length > 0 ? lock(client, locked, fresh, loaded, seen, token) : []),
        ...calls.map((call) => call(client)),
      ]),
    )
    if (now === undefined && seen.committed > seen.time) {
      await catchUp()
      await readTime(client, seen, token)
    }
    // Never behind the last commit of a tenant, whichever server made it.
    loaded.now = now?.() ?? Math.max(seen.time, seen.committed)
    await loadDone(client, need, loaded, known)
  } catch (error) {
    throw failure(error)
  }
}

/** What a transaction has loaded. */
interface Found {
  readonly loaded: Loaded
  readonly known: Known
}

/** What a transaction has seen besides what it loaded. */
interface Seen {
  /** What the database's time was. */
  time: number
  /** The last commit of the tenants that were locked. */
  committed: number
  /** Whether another server follows all changes. */
  followed: boolean
}

/**
 * Locking, reading the time and loading are separate statements: what a statement reads besides the rows that
 * it waits for is as old as its start.
 */
function lock(
  client: pg.Client,
  locked: readonly number[],
  fresh: readonly number[],
  loaded: Loaded,
  seen: Seen,
  token: string,
): Promise<unknown>[] {
  return [
    run(client, SEE_TENANTS, [`{${[...locked, ...fresh]}}`]),
    run<Tenant & { committed_at: number }>(client, LOCK_TENANTS, [arrayOf('int', fresh)]).then((rows) => {
      for (const { committed_at, ...tenant } of rows) {
        loaded.tenants.push(tenant)
        seen.committed = Math.max(seen.committed, committed_at)
      }
    }),
    readTime(client, seen, token),
  ]
}

async function readTime(client: pg.Client, seen: Seen, token: string): Promise<void> {
  const [row] = await run<{ now: number; followed: boolean }>(client, READ_TIME, [token])
  seen.time = row?.now ?? 0
  seen.followed = row?.followed ?? false
}

async function write(
  client: pg.Client,
  changes: Changes,
  found: Found,
  { followed }: Seen,
  { listener, random }: CommitDeps,
  askedAt: number,
): Promise<Committed> {
  const { calls, payloads } = prepare(changes, found, random, (hints) =>
    listener.encode(followed ? hints : hints.map(withoutChanges)),
  )
  // If COMMIT were sent on a lost connection, its outcome would be unknown. The database ends the session of a
  // stalled process; that notice may have arrived and is read first.
  if (performance.now() - askedAt > LONG_MS) await readWhatCame()
  if (isLost(client)) throw new StoreError('unavailable', 'the connection was lost before COMMIT was sent')
  // Where nothing changes, a rollback is as good and spares the wait for the disk.
  const ending = calls.length > 0 ? 'COMMIT' : 'ROLLBACK'
  const sent = pipelined(client, () => {
    const written = calls.map(({ name, values }) => run(client, { name, text: writes[name] }, values))
    const specs = grantedSpecs(client, changes)
    const questions = answeredQuestions(client, changes)
    const ended = client.query(ending)
    notify(client, payloads)
    return { written, specs, questions, ended }
  })
  const answers = await Promise.allSettled([...sent.written, sent.specs, sent.questions, sent.ended])
  const errors = answers.map((answer) => (answer.status === 'rejected' ? answer.reason : undefined))
  const failed = errors.find((error) => error !== undefined)
  if (failed !== undefined) throw ending === 'COMMIT' ? commitFailure(errors) : failure(failed)
  const { command } = await sent.ended
  if (command !== ending) throw new StoreError('unavailable', `${ending} was answered with ${command}`)
  return { specs: await sent.specs, questions: await sent.questions }
}

/** The first ends the current turn of the event loop, the second the next one, which reads from the sockets. */
async function readWhatCame(): Promise<void> {
  await immediate()
  await immediate()
}

/** The data that wakes waiting callers. */
function withoutChanges(hint: Hint): Hint {
  return { ...hint, changes: [] }
}

/** Before anything is sent. What fails here is a batch that is too large for a text, or a bug; it can be split. */
function prepare(
  changes: Changes,
  { loaded, known }: Found,
  random: Random,
  encode: (hints: readonly Hint[]) => string[],
) {
  try {
    const rows = rowsOf(changes, known, MAX_SEGMENT, random)
    return { calls: writesOf(changes, rows, loaded), payloads: encode(changes.hints) }
  } catch (error) {
    throw new StoreError('refused', error)
  }
}

async function grantedSpecs(client: pg.Client, { granted }: Changes): Promise<TaskSpec[]> {
  if (granted.length === 0) return []
  const statement = { name: 'granted_specs', text: writes.granted_specs }
  const rows = await run<TaskRow>(client, statement, parameters(SEQ_KEY, granted))
  return rows.map(taskSpec)
}

async function answeredQuestions(client: pg.Client, { answered }: Changes): Promise<Question[]> {
  if (answered.length === 0) return []
  return run<Question>(client, { name: 'questions', text: loads.questions }, parameters(TASK_KEY, answered))
}

/**
 * After COMMIT, since a transaction that notifies makes all others of the server that do so wait until it is on
 * disk. No caller waits for the response: hints may be lost.
 */
function notify(client: pg.Client, payloads: readonly string[]): void {
  if (payloads.length > 0) run(client, NOTIFY, [arrayOf('text', payloads)]).catch(ignore)
}
