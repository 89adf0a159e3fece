import type { Claim, Command, RecordSchedule, Relations, ReportStale, Restore } from '../core/command.ts'
import type { InboxMark } from '../core/inbox.ts'
import { EVERYONE, type Lane } from '../core/matching.ts'
import type { Settings } from '../core/settings.ts'
import type { ChildRef, Head, HeadRef, Need, TaskRef } from '../store/store.ts'
import type { Directory, TenantLanes } from './lane-directory.ts'
import { isTruncated } from './ready.ts'

/** Maximum ready tasks loaded per lane and batch. Claims that find no more tasks wait for the next batch. */
const MAX_HEADS = 512

/** Number of lanes that are loaded for a claim first. If they lack tasks, four times as many are loaded, and so on. */
export const FIRST_LANES = 16

/** Maximum expired leases and ended delays that a batch with claims wakes. */
const DUE_PER_BATCH = 100

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] }

/** The rows that these commands read. */
export function needOf(
  commands: readonly Command[],
  directory: Directory,
  settings: Settings,
  wakes: boolean,
): Need {
  const need: Mutable<Need> = {
    tenants: [...new Set(commands.map((command) => command.tenant))].sort((a, b) => a - b),
    tasks: [],
    questions: [],
    keys: [],
    owners: [],
    heads: [],
    lanes: [],
    due: [],
    receipts: [],
    children: [],
    acknowledgements: [],
    relationships: [],
    items: [],
    links: [],
  }
  const claims: Claim[] = []
  for (const command of commands) {
    const { tenant } = command
    switch (command.verb) {
      case 'create': {
        const { owner, idempotency_key } = command
        if (idempotency_key !== null) need.keys.push({ tenant, owner, idempotency_key })
        need.owners.push({ tenant, owner: settings.claim_order === 'fifo' ? EVERYONE : owner })
        if (command.relations !== undefined) need.tasks.push(...relatedTasks(tenant, command.relations))
        break
      }
      case 'claim':
        claims.push(command)
        break
      case 'acknowledge':
        need.receipts.push({ tenant, seq: command.seq })
        need.acknowledgements.push({ tenant, seq: command.seq, by: command.by })
        need.items.push({ tenant, principal: command.by, seq: command.seq })
        break
      case 'record_schedule':
      case 'report_stale':
        need.tasks.push({ tenant, task_id: command.schedule_id })
        if (command.verb === 'record_schedule') need.tasks.push({ tenant, task_id: command.task_id })
        need.children.push(...childrenOf(command))
        break
      case 'report_refusal':
        need.tasks.push({ tenant, task_id: command.task_id })
        need.children.push({ tenant, parent: command.asked, receipt_type: 'system.anomaly' })
        break
      case 'record':
        break
      case 'restore':
        addRestored(need, command, settings)
        break
      case 'greet':
        need.relationships.push({ tenant, principal: command.principal })
        for (const seq of command.delivered) {
          need.items.push({ tenant, principal: command.principal, seq })
        }
        break
      case 'mark':
        for (const { principal, seq } of command.items) {
          need.items.push({ tenant, principal, seq })
          // Items that the gate marks itself exist; only an item that a caller names may be absent.
          if (isNamed(command.as)) need.receipts.push({ tenant, seq })
        }
        break
      case 'ask':
      case 'answer':
        need.tasks.push({ tenant, task_id: command.task_id })
        need.questions.push({ tenant, task_id: command.task_id })
        break
      default:
        need.tasks.push({ tenant, task_id: command.task_id })
    }
  }
  need.tasks = unique(need.tasks, (ref) => `${ref.tenant} ${ref.task_id}`)
  need.questions = unique(need.questions, (ref) => `${ref.tenant} ${ref.task_id}`)
  need.items = unique(need.items, (ref) => `${ref.tenant} ${ref.seq} ${ref.principal}`)
  need.owners = unique(need.owners, (ref) => `${ref.tenant} ${ref.owner}`)
  need.heads = headsFor(claims, directory, FIRST_LANES)
  // If other processes write too, their changes are loaded in the same round.
  need.lanes = need.tenants
    .filter((tenant) => directory.of(tenant).isContended)
    .map((tenant) => ({ tenant, after: directory.of(tenant).version }))
  const claiming = wakes ? new Set(claims.map((claim) => claim.tenant)) : []
  need.due = [...claiming].map((tenant) => ({ tenant, limit: DUE_PER_BATCH }))
  return need
}

function relatedTasks(tenant: number, { parent, depends_on }: Relations): TaskRef[] {
  const named = parent === null ? depends_on : [parent, ...depends_on]
  return named.map(({ task_id }) => ({ tenant, task_id }))
}

function addRestored(need: Mutable<Need>, { tenant, receipt }: Restore, settings: Settings): void {
  const { receipt_type, task_id, from, to, parents } = receipt
  if (receipt_type === 'receipt.acknowledged') {
    for (const seq of parents) need.items.push({ tenant, principal: from, seq })
  }
  if (task_id === null) return
  need.tasks.push({ tenant, task_id })
  if (receipt_type === 'question.answered') need.questions.push({ tenant, task_id })
  if (receipt_type === 'task.assigned') {
    need.owners.push({ tenant, owner: settings.claim_order === 'fifo' ? EVERYONE : to })
  }
}

/** The recorded receipts of a schedule. */
function childrenOf({ tenant, asked, created }: RecordSchedule | ReportStale): ChildRef[] {
  const opening: ChildRef = { tenant, parent: asked, receipt_type: 'schedule.created' }
  if (created === null) return [opening]
  return [
    opening,
    { tenant, parent: created, receipt_type: 'schedule.deleted' },
    { tenant, parent: created, receipt_type: 'system.anomaly' },
  ]
}

/**
 * The heads of lanes that the claims still need, with as many tasks per lane as all claims together could take. A claim
 * descends the levels until they hold enough tasks for all claims, in complete levels with about `room` lanes.
 */
export function headsFor(
  claims: readonly Claim[],
  directory: Directory,
  room: number,
  loaded: readonly Head[] = [],
): HeadRef[] {
  const known = new Map(loaded.map((head) => [headName(head), head]))
  const demand = new Map<number, number>()
  for (const { tenant, max_tasks } of claims) demand.set(tenant, (demand.get(tenant) ?? 0) + max_tasks)
  const heads = new Map<string, HeadRef>()
  for (const claim of claims) {
    let tasks = 0
    let lanes = 0
    for (const level of directory.of(claim.tenant).ready.levels(claim)) {
      const wanted = Math.min(MAX_HEADS, demand.get(claim.tenant) ?? 0)
      if (tasks >= wanted || lanes >= room) break
      const lanesOfTenant = directory.of(claim.tenant)
      const isLarge = level.lanes.length > FIRST_LANES
      for (const { tenant, lane, type } of isLarge ? byMark(level.lanes, lanesOfTenant) : level.lanes) {
        // Lanes are in the order of their first tasks, so that those of the others come later.
        if (isLarge && (tasks >= wanted || lanes >= Math.max(wanted, room / FIRST_LANES))) break
        const name = headName({ tenant, lane })
        const head = known.get(name)
        if (head === undefined) {
          const limit = Math.min(MAX_HEADS, (heads.get(name)?.limit ?? 0) + claim.max_tasks)
          heads.set(name, { tenant, lane, pool: type === null, limit })
          lanes++
        } else tasks += isTruncated(head) ? MAX_HEADS : head.tasks.length
      }
    }
  }
  return [...heads.values()]
}

function byMark(lanes: readonly Lane[], directory: TenantLanes): Lane[] {
  const markOf = ({ lane }: Lane) => directory.get(lane)?.mark ?? 0
  return [...lanes].sort((a, b) => markOf(a) - markOf(b))
}

function headName({ tenant, lane }: { readonly tenant: number; readonly lane: number }): string {
  return `${tenant} ${lane}`
}

function isNamed(mark: InboxMark): boolean {
  return mark !== 'delivered' && mark !== 'fetched'
}

function unique<T>(items: readonly T[], name: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [name(item), item])).values()]
}
