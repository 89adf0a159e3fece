import { asksForAttention, type InboxItem } from '../../src/core/inbox.ts'
import { type LaneRow, laneName } from '../../src/core/matching.ts'
import { ObligationReplay, owedTo } from '../../src/core/obligations.ts'
import type { PrincipalKey } from '../../src/core/principal.ts'
import { PARKED_BY } from '../../src/core/question.ts'
import {
  canTerminate,
  isTerminalType,
  type Receipt,
  type ReceiptType,
  receiptKey,
} from '../../src/core/receipt.ts'
import { isHeld, isOpen, isReady, type Task } from '../../src/core/task.ts'
import { isParked } from '../../src/core/transitions.ts'
import type { Tenant } from '../../src/core/world.ts'
import type { Reads, TaskRecord } from '../../src/store/reads.ts'
import type { TenantRef } from '../../src/store/store.ts'

const PAGE = 500

interface Ledger {
  readonly tenant: TenantRef
  readonly receipts: readonly Receipt[]
  readonly bySeq: ReadonlyMap<number, Receipt>
  readonly byTask: ReadonlyMap<string, readonly Receipt[]>
  readonly records: readonly TaskRecord[]
  readonly counters: Tenant
  readonly lanes: readonly LaneRow[]
  /** The `principal seq` of every open obligation. */
  readonly obligations: ReadonlySet<string>
  /** By `principal seq`. */
  readonly items: ReadonlyMap<string, InboxItem>
}

/**
 * Checks the invariants of a tenant, which hold at any time. Returns the violations. No one else may write to the
 * tenant meanwhile.
 */
export async function checkInvariants(
  store: { readonly reads: Reads },
  tenant: TenantRef,
): Promise<string[]> {
  const ledger = await readLedger(store.reads, tenant)
  return [
    ...checkReceipts(ledger),
    ...checkObligations(ledger),
    ...checkInboxes(ledger),
    ...ledger.records.flatMap((record) => [...checkTask(ledger, record)]),
    ...checkCounters(ledger),
    ...checkLanes(ledger),
  ]
}

async function readLedger(reads: Reads, tenant: TenantRef): Promise<Ledger> {
  const id = tenant.tenant
  const receipts = await allPages(
    0,
    (from) => reads.receipts(id, { by: 'all' }, from, 'ascending', PAGE),
    (receipt) => receipt.seq,
  )
  const lines = await allPages(
    Number.MAX_SAFE_INTEGER,
    (before) => reads.scan(id, { by: 'all' }, before, PAGE),
    (line) => line.seq,
  )
  const records: TaskRecord[] = []
  for (let i = 0; i < lines.length; i += PAGE) {
    const taskIds = lines.slice(i, i + PAGE).map((line) => line.task_id)
    records.push(...(await reads.tasks(id, taskIds)))
  }
  const principals = new Set<PrincipalKey>(receipts.map((receipt) => receipt.to))
  for (const { task } of records) for (const principal of owedTo(task)) principals.add(principal)
  const obligations = new Set<string>()
  for (const principal of principals) {
    const open = await allPages(
      0,
      (after) => reads.obligations(id, principal, after, PAGE),
      (receipt) => receipt.seq,
    )
    for (const { seq } of open) obligations.add(`${principal} ${seq}`)
  }
  const items = new Map<string, InboxItem>()
  for (const principal of principals) {
    const inbox = await allPages(
      0,
      (from) => reads.inbox(id, principal, 'all', from, 'ascending', PAGE),
      (item) => item.seq,
    )
    for (const item of inbox) items.set(`${principal} ${item.seq}`, item)
  }
  return {
    tenant,
    receipts,
    bySeq: new Map(receipts.map((receipt) => [receipt.seq, receipt])),
    byTask: groupByTask(receipts),
    records,
    counters: await reads.counters(id),
    lanes: await reads.lanes(id, 0),
    obligations,
    items,
  }
}

function groupByTask(receipts: readonly Receipt[]): Map<string, Receipt[]> {
  const groups = new Map<string, Receipt[]>()
  for (const receipt of receipts) {
    if (receipt.task_id === null) continue
    const group = groups.get(receipt.task_id)
    if (group === undefined) groups.set(receipt.task_id, [receipt])
    else group.push(receipt)
  }
  return groups
}

async function allPages<Row>(
  start: number,
  read: (position: number) => Promise<Row[]>,
  positionOf: (row: Row) => number,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let position = start; ; ) {
    const page = await read(position)
    rows.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return rows
    position = positionOf(last)
  }
}

function* checkReceipts(ledger: Ledger): Generator<string> {
  const { receipts, bySeq, counters, records } = ledger
  const keys = new Map<string, number>()
  const taskIds = new Set(records.map(({ task }) => task.task_id))
  if (counters.seq !== receipts.length) {
    yield `the tenant has given out seq ${counters.seq} and keeps ${receipts.length} receipts`
  }
  for (const [i, receipt] of receipts.entries()) {
    const name = `receipt ${receipt.seq} (${receipt.receipt_type})`
    if (receipt.seq !== i + 1) yield `${name} stands at place ${i + 1}`
    for (const parent of receipt.parents) {
      if (!bySeq.has(parent)) yield `${name} names the parent ${parent}, which does not exist`
      if (parent >= receipt.seq) yield `${name} names the parent ${parent}, which is not older`
    }
    const key = receiptKey(receipt)
    if (key !== undefined) {
      if (keys.has(key)) yield `${name} has the key of receipt ${keys.get(key)}: ${key}`
      keys.set(key, receipt.seq)
    }
    if (receipt.task_id !== null && !taskIds.has(receipt.task_id)) yield `${name} is about no task`
    if (isTerminalType(receipt.receipt_type)) yield* checkTerminal(ledger, receipt, name)
  }
}

/** Only a completion may close nothing: the one that waits for its evidence. */
function* checkTerminal({ bySeq }: Ledger, receipt: Receipt, name: string): Generator<string> {
  if (receipt.parents.length === 0) {
    if (receipt.receipt_type !== 'task.completed') yield `${name} closes nothing`
    return
  }
  const closes = receipt.parents.some((seq) => {
    const parent = bySeq.get(seq)
    return (
      parent !== undefined &&
      canTerminate(receipt.receipt_type, parent.receipt_type) &&
      parent.task_id === receipt.task_id
    )
  })
  if (!closes) yield `${name} names no obligation of its task`
}

function* checkObligations(ledger: Ledger): Generator<string> {
  const replay = new ObligationReplay()
  for (const receipt of ledger.receipts) replay.add(receipt)
  const tasks = new Map(ledger.records.map(({ task }) => [task.task_id, task]))
  const expected = new Set<string>()
  for (const { seq, task_id } of replay.open.values()) {
    const task = tasks.get(task_id ?? '')
    if (task !== undefined) for (const principal of owedTo(task)) expected.add(`${principal} ${seq}`)
  }
  for (const open of expected) {
    if (!ledger.obligations.has(open)) yield `the obligation ${open} is not closed, and not in the table`
  }
  for (const open of ledger.obligations) {
    if (!expected.has(open)) yield `the obligation ${open} is in the table, and closed`
  }
}

/** Receipts that are also in the inbox of principal_ai. */
const FOR_BOTH: ReadonlySet<ReceiptType> = new Set(['task.result_ready', 'question.asked'])

/** A lost lease needs attention if the task is not requeued, and a progress report if it is a milestone. */
function isForInbox({ receipt_type, body }: Receipt): boolean {
  if (receipt_type === 'lease.expired') return JSON.parse(body).requeued === false
  if (receipt_type === 'task.progress') return JSON.parse(body).milestone === true
  return asksForAttention(receipt_type)
}

/** Receipts that need attention are in the inbox of their addressee. */
function* checkInboxes({ receipts, records, items }: Ledger): Generator<string> {
  const tasks = new Map(records.map(({ task }) => [task.task_id, task]))
  const expected = new Set<string>()
  for (const receipt of receipts) {
    const { seq, receipt_type, to, task_id, from, parents } = receipt
    if (isForInbox(receipt)) expected.add(`${to} ${seq}`)
    const task = tasks.get(task_id ?? '')
    if (FOR_BOTH.has(receipt_type) && task !== undefined) {
      for (const principal of owedTo(task)) expected.add(`${principal} ${seq}`)
    }
    if (receipt_type !== 'receipt.acknowledged') continue
    for (const parent of parents) {
      if (items.get(`${from} ${parent}`)?.archived_at === null)
        yield `${from} has acknowledged ${parent}, which is still in its inbox`
    }
  }
  for (const item of expected) if (!items.has(item)) yield `the receipt ${item} is in no inbox`
  for (const item of items.keys()) if (!expected.has(item)) yield `${item} is in an inbox for no reason`
}

const TERMINAL_RECEIPT = {
  succeeded: 'task.completed',
  failed: 'task.failed',
  canceled: 'task.canceled',
} as const

function* checkTask({ byTask }: Ledger, record: TaskRecord): Generator<string> {
  const { task, spec, progress } = record
  const name = `task ${task.task_id} (${task.status})`
  const receipts = byTask.get(task.task_id) ?? []
  const of = (type: ReceiptType) => receipts.filter((receipt) => receipt.receipt_type === type)
  const count = (what: string, is: number, type: ReceiptType) =>
    is === of(type).length ? [] : [`${name} has ${what} ${is} and ${of(type).length} ${type}`]

  const [assigned, ...more] = of('task.assigned')
  if (assigned === undefined || more.length > 0)
    yield `${name} has ${of('task.assigned').length} task.assigned`
  else if (assigned.seq !== task.seq || assigned.to !== task.owner || spec.seq !== task.seq) {
    yield `${name} has seq ${task.seq} and another assignment: ${assigned.seq} to ${assigned.to}`
  }
  yield* count('fence', task.fence, 'task.accepted')
  yield* count('attempt', task.attempt, 'task.retry_scheduled')
  yield* count('expiry_count', task.expiry_count, 'lease.expired')
  if (task.progress_count !== (progress?.n ?? 0)) {
    yield `${name} has progress_count ${task.progress_count} and progress ${progress?.n}`
  }
  if (task.attempt >= task.max_attempts)
    yield `${name} has used ${task.attempt} of ${task.max_attempts} attempts`
  yield* count('question_count', task.question_count, 'question.asked')
  yield* checkQuestions(name, record, receipts)
  yield* checkEnd(name, task, receipts)
  yield* checkLeases(name, task, receipts)
}

/** Each question has its receipt, at most one decision with its receipt, and parks its task exactly while it is open. */
function* checkQuestions(
  name: string,
  { task, questions }: TaskRecord,
  receipts: readonly Receipt[],
): Generator<string> {
  const answers = receipts.filter((receipt) => receipt.receipt_type === 'question.answered')
  if (questions.length !== task.question_count) {
    yield `${name} has question_count ${task.question_count} and ${questions.length} questions`
  }
  for (const [i, { n, seq, state, asked_by, decided_by, decided_seq }] of questions.entries()) {
    const asked = receipts.find((receipt) => receipt.seq === seq)
    if (n !== i + 1) yield `${name} has question ${n} at place ${i + 1}`
    if (asked?.receipt_type !== 'question.asked' || asked.from !== asked_by) {
      yield `${name} has question ${n}, which was not asked in receipt ${seq}`
    }
    const decisions = answers.filter((receipt) => receipt.parents.includes(seq))
    if (decisions.length !== Number(state !== 'open')) {
      yield `${name} has question ${n}, which is ${state}, and ${decisions.length} decisions`
    }
    const [decision] = decisions
    if (decision !== undefined && (decision.seq !== decided_seq || decision.from !== decided_by)) {
      yield `${name} has question ${n}, decided by ${decided_by} in receipt ${decided_seq}, not ${decision.seq}`
    }
  }
  const open = questions.filter(({ state }) => state === 'open')
  const waitsFor = open.map(({ kind }) => PARKED_BY[kind])
  const isRight = isParked(task.status)
    ? waitsFor.length === 1 && waitsFor[0] === task.status && open[0]?.n === task.question_count
    : waitsFor.length === 0
  if (!isRight) yield `${name} waits for ${waitsFor.length === 0 ? 'nothing' : waitsFor.join()}`
}

/** A task has ended exactly if it has one terminal receipt; a completion may have one more, with later evidence. */
function* checkEnd(name: string, task: Task, receipts: readonly Receipt[]): Generator<string> {
  const terminal = receipts.filter((receipt) => canTerminate(receipt.receipt_type, 'task.assigned'))
  const ready = receipts.filter((receipt) => receipt.receipt_type === 'task.result_ready').length
  if (isOpen(task)) {
    if (terminal.length > 0) yield `${name} has the terminal receipt ${terminal[0]?.seq}`
    if (ready > 0) yield `${name} has a task.result_ready`
    if (task.expiry_count >= task.max_expiries) yield `${name} has expired ${task.expiry_count} times`
    return
  }
  const { outcome } = task
  if (ready !== 1) yield `${name} has ${ready} task.result_ready`
  const [first, repair, ...others] = terminal
  if (first === undefined || others.length > 0) yield `${name} has ${terminal.length} terminal receipts`
  for (const receipt of terminal) {
    if (receipt.receipt_type !== TERMINAL_RECEIPT[task.status]) yield `${name} has a ${receipt.receipt_type}`
  }
  if (repair !== undefined && (first?.parents.length !== 0 || repair.parents.length === 0)) {
    yield `${name} has two terminal receipts, and the second repairs nothing`
  }
  const last = terminal.at(-1)
  if (last !== undefined && last.seq !== outcome.receipt_seq) {
    yield `${name} ended by receipt ${last.seq} and says ${outcome.receipt_seq}`
  }
  if (last !== undefined && outcome.obligation_open !== (last.parents.length === 0)) {
    yield `${name} has obligation_open ${outcome.obligation_open} and closes ${last.parents.length} obligations`
  }
  if ((task.status === 'succeeded') !== (outcome.error === null))
    yield `${name} has the error ${outcome.error}`
}

const ENDS_LEASE: ReadonlySet<ReceiptType> = new Set([
  'lease.expired',
  'lease.released',
  'question.asked',
  'task.retry_scheduled',
  'task.completed',
  'task.failed',
  'task.canceled',
])

/** One lease at a time: each ends before the next begins, and only the current one may act. */
function* checkLeases(name: string, task: Task, receipts: readonly Receipt[]): Generator<string> {
  let held: string | null = null
  let last: string | null = null
  let started = false
  for (const { receipt_type, lease_id, seq } of receipts) {
    if (receipt_type === 'task.accepted') {
      if (held !== null) yield `${name} was leased again by receipt ${seq} while ${held} held it`
      held = lease_id
      last = lease_id
      started = false
    } else if (receipt_type === 'task.started') {
      if (lease_id !== held || started) yield `${name} was started by receipt ${seq} out of turn`
      started = true
    } else if (ENDS_LEASE.has(receipt_type)) {
      // The last allowed expiry also fails the task, and evidence can be added to a completion.
      const again = held === null && lease_id === last && isTerminalType(receipt_type)
      if (lease_id !== held && !again)
        yield `${name} was ended by receipt ${seq} under a lease that is not held`
      held = null
    }
  }
  const holds = task.status === 'leased' || task.status === 'running' ? task.lease.lease_id : null
  if (holds !== held) yield `${name} is held by ${holds}, by its receipts by ${held}`
  if (held !== null && (task.status === 'running') !== started) {
    yield `${name} has ${started ? 'a' : 'no'} task.started`
  }
}

function* checkCounters({ counters, records, receipts }: Ledger): Generator<string> {
  const tasks = records.map((record) => record.task)
  const held = tasks.filter((task) => task.status === 'leased' || task.status === 'running').length
  const open = tasks.filter(isOpen).length
  const served = Math.max(0, ...tasks.filter((task) => task.fence > 0).map((task) => task.rank))
  if (counters.open_tasks !== open) yield `open_tasks is ${counters.open_tasks} and should be ${open}`
  if (counters.active_leases !== held)
    yield `active_leases is ${counters.active_leases} and should be ${held}`
  const ended = tasks.length - open
  if (counters.ended_tasks !== ended) yield `ended_tasks is ${counters.ended_tasks} and should be ${ended}`
  const bytes = receipts.reduce((sum, receipt) => sum + Buffer.byteLength(receipt.body), 0)
  if (counters.receipt_bytes !== bytes)
    yield `receipt_bytes is ${counters.receipt_bytes} and should be ${bytes}`
  if (counters.clock !== served) yield `clock is ${counters.clock} and the highest claimed rank ${served}`
}

/** Each lane counts its open tasks, has their type and priority, and has no low-water mark above a ready task. */
function* checkLanes({ counters, lanes, records }: Ledger): Generator<string> {
  const open = records.filter(({ task }) => isOpen(task))
  const names = new Set(
    lanes.map((lane) => laneName(lane.type, lane.capabilities, lane.priority, lane.limited)),
  )
  if (names.size !== lanes.length) yield `${lanes.length} lanes have ${names.size} names`
  const versions = Math.max(0, ...lanes.map((lane) => lane.version))
  if (versions !== counters.lanes_version)
    yield `lanes_version is ${counters.lanes_version} and the newest lane has ${versions}`
  for (const { task, spec } of open) {
    const lane = lanes.find((each) => each.lane === task.lane)
    const pool = lanes.find((each) => each.lane === task.pool)
    if (lane?.type !== spec.type || lane.priority !== spec.priority)
      yield `task ${task.task_id} (${spec.type}, ${spec.priority}) is in lane ${task.lane} (${lane?.type}, ${lane?.priority})`
    if (pool?.type !== null || pool.priority !== spec.priority || !isSameSet(pool, lane))
      yield `task ${task.task_id} is in the wrong pool ${task.pool}`
  }
  const heldOf = (limited: string | null) =>
    lanes.filter((lane) => lane.limited === limited).reduce((sum, lane) => sum + lane.held, 0)
  for (const lane of lanes) {
    const tasks = open.map(({ task }) => task).filter((task) => [task.lane, task.pool].includes(lane.lane))
    const name = `lane ${lane.lane}`
    if (lane.lane > counters.lanes) yield `${name} has a higher number than ${counters.lanes}`
    if (lane.tasks !== tasks.length) yield `${name} counts ${lane.tasks} tasks and has ${tasks.length}`
    const held = lane.limited === null || lane.type === null ? 0 : tasks.filter(isHeld).length
    if (lane.held !== held) yield `${name} counts ${lane.held} leases and has ${held}`
    const ranks = tasks.filter(isReady).map((task) => task.rank)
    if (ranks.some((rank) => lane.mark === null || rank < lane.mark))
      yield `${name} has the mark ${lane.mark} and ready tasks of the ranks ${ranks}`
    const owned = tasks.filter((task) => task.owner === lane.owner).length
    if (lane.owned > owned || (lane.owner === null) !== (lane.owned === 0))
      yield `${name} counts ${lane.owned} tasks of ${lane.owner}, who has ${owned} in it`
    if (lane.max_held !== null && heldOf(lane.limited) > lane.max_held)
      yield `${name} has the limit ${lane.max_held} and ${heldOf(lane.limited)} leases`
    if (lane.type === null && lane.owner !== null) yield `${name} is a pool and counts towards ${lane.owner}`
  }
}

function isSameSet(pool: LaneRow, lane: LaneRow | undefined): boolean {
  return JSON.stringify(pool.capabilities) === JSON.stringify(lane?.capabilities)
}
