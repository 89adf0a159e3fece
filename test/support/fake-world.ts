import type { Command, Relationship } from '../../src/core/command.ts'
import { type AnyAnswer, decide } from '../../src/core/decide/index.ts'
import type { Decision, Obligation } from '../../src/core/draft.ts'
import type { Links, TaskLink } from '../../src/core/flow.ts'
import type { InboxItem } from '../../src/core/inbox.ts'
import { canonical } from '../../src/core/json/json.ts'
import { EVERYONE, type Owner, type Wanted } from '../../src/core/matching.ts'
import type { PrincipalKey } from '../../src/core/principal.ts'
import type { Question } from '../../src/core/question.ts'
import type { Receipt, ReceiptType } from '../../src/core/receipt.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/core/settings.ts'
import {
  type DoneTask,
  type HeldTask,
  isOpen,
  isReady,
  type Lease,
  type ParkedTask,
  type QueuedTask,
  type Task,
  type TaskCore,
  type TaskSpec,
} from '../../src/core/task.ts'
import type { Tenant, World } from '../../src/core/world.ts'
import { type Random, seededRandom } from '../../src/util/random.ts'

export const NOW = Date.UTC(2026, 0, 1)
export const SALT = '8abc-0123456789ab'
export const ALICE: PrincipalKey = 'agent:alice'
export const TASK_ID = '019b7608-1c00-7000-8000-000000000001'

/** A lease acquired ten seconds ago, for a minute. */
export const LEASE: Lease = {
  lease_id: '2f1e0d0c-0b0a-4908-8706-050403020100',
  holder: 'worker:w1',
  worker_id: 'label-1',
  instance_id: null,
  acquired_at: NOW - 10_000,
  expires_at: NOW + 50_000,
  renewals: 0,
}

const CORE: TaskCore = {
  tenant: 1,
  task_id: TASK_ID,
  seq: 1,
  lane: 2,
  pool: 1,
  rank: 1000,
  owner: ALICE,
  principal_ai: 'alice',
  attempt: 0,
  max_attempts: 2,
  expiry_count: 0,
  max_expiries: 10,
  retry_backoff_seconds: 15,
  timeout_seconds: null,
  deadline_at: null,
  retention_days: null,
  escalation_class: null,
  scheduling: null,
  input_length: 0,
  fence: 0,
  progress_count: 0,
  question_count: 0,
  updated_at: NOW - 20_000,
  flow: null,
}

export function queuedTask(changes: Partial<QueuedTask> = {}): QueuedTask {
  return { ...CORE, status: 'queued', next_eligible_at: null, ...changes }
}

export function heldTask(changes: Partial<HeldTask> = {}): HeldTask {
  const started_at = changes.status === 'running' ? NOW - 5_000 : null
  return { ...CORE, fence: 1, status: 'leased', lease: LEASE, started_at, ...changes }
}

/** A task that waits for an approval which the holder of LEASE requested, or for input. */
export function parkedTask(changes: Partial<ParkedTask> = {}): ParkedTask {
  return { ...CORE, fence: 1, question_count: 1, status: 'pending_approval', expires_at: null, ...changes }
}

/** The question of parkedTask(), asked in receipt 1 of its task. */
export function question(changes: Partial<Question> = {}): Question {
  return {
    tenant: 1,
    task_id: TASK_ID,
    n: 1,
    kind: 'approval',
    seq: 1,
    asked_by: LEASE.holder,
    asked_at: NOW - 5_000,
    lease_id: LEASE.lease_id,
    expires_at: null,
    not_before: null,
    request: canonical({ title: 'Delete the folder?' }),
    state: 'open',
    decided_by: null,
    decided_at: null,
    decided_seq: null,
    answer: null,
    content_hash: 'sha256:a',
    ...changes,
  }
}

export function doneTask(changes: Partial<DoneTask> = {}): DoneTask {
  const { lease_id, holder, worker_id } = LEASE
  const succeeded = (changes.status ?? 'succeeded') === 'succeeded'
  return {
    ...CORE,
    fence: 1,
    status: 'succeeded',
    lease: { lease_id, holder, worker_id },
    started_at: null,
    outcome: {
      completed_at: NOW - 1_000,
      result: succeeded ? canonical({ answer: 42 }) : null,
      error: succeeded ? null : canonical({ code: 'BROKEN' }),
      artifacts: succeeded ? canonical([{ url: 's3://bucket/key' }]) : null,
      delivery_proof: null,
      receipt_seq: 1,
      obligation_open: false,
      dead_letter: false,
    },
    ...changes,
  }
}

interface State {
  readonly settings: Settings
  readonly now: number
  readonly tenant: Tenant
  readonly tasks: readonly Task[]
  readonly questions: readonly Question[]
  readonly specs: readonly TaskSpec[]
  readonly owners: readonly Owner[]
  readonly receipts: readonly Receipt[]
  readonly relationships: readonly Relationship[]
  readonly items: readonly InboxItem[]
  readonly obligations: readonly Obligation[]
  readonly links: readonly TaskLink[]
}

type Given = Partial<Omit<State, 'settings'>> & {
  readonly settings?: Partial<Settings>
  readonly seed?: number
}

/**
 * One tenant in memory. It is immutable: applying a decision returns a new world. Every ready task matches every claim,
 * because the choice of lanes is not part of `decide`.
 */
export class FakeWorld implements World {
  readonly state: State
  readonly random: Random

  constructor({ settings, seed, ...given }: Given = {}, random = seededRandom(seed ?? 1)) {
    const tasks = given.tasks ?? []
    this.state = deepFreeze({
      now: NOW,
      questions: [],
      specs: [],
      owners: [],
      receipts: [],
      relationships: [],
      items: [],
      links: [],
      obligations: tasks.filter(isOwed).map((task) => obligation(task)),
      ...given,
      tasks,
      settings: { ...DEFAULT_SETTINGS, ...settings },
      tenant: given.tenant ?? tenantOf(tasks),
    })
    this.random = random
  }

  get settings(): Settings {
    return this.state.settings
  }

  get now(): number {
    return this.state.now
  }

  get tenant(): Tenant {
    return this.state.tenant
  }

  task(taskId: string): Task | undefined {
    return this.state.tasks.find((task) => task.task_id === taskId)
  }

  questions(taskId: string): readonly Question[] {
    return this.state.questions.filter((question) => question.task_id === taskId)
  }

  keyed(owner: PrincipalKey, idempotencyKey: string): TaskSpec | undefined {
    return this.state.specs.find((spec) => spec.owner === owner && spec.idempotency_key === idempotencyKey)
  }

  owner(owner: string): Owner {
    const known = this.state.owners.find((row) => row.owner === owner)
    return known ?? { tenant: 1, owner, last_rank: 0, weight: 1 }
  }

  lane(): { lane: number; pool: number } {
    return { lane: 2, pool: 1 }
  }

  bytes({ seq }: QueuedTask): number | undefined {
    return this.state.specs.find((spec) => spec.seq === seq)?.input.length
  }

  ready(_wanted: Wanted): Iterable<QueuedTask> {
    return this.state.tasks.filter(isReady).sort((a, b) => a.rank - b.rank || a.seq - b.seq)
  }

  receipt(seq: number): Receipt | undefined {
    return this.state.receipts.find((receipt) => receipt.seq === seq)
  }

  child(parent: number, type: ReceiptType): Receipt | undefined {
    return this.state.receipts.findLast(
      (receipt) => receipt.receipt_type === type && receipt.parents.includes(parent),
    )
  }

  acknowledgement(seq: number, by: PrincipalKey): number | undefined {
    const found = this.state.receipts.find(
      (receipt) =>
        receipt.receipt_type === 'receipt.acknowledged' &&
        receipt.from === by &&
        receipt.parents.includes(seq),
    )
    return found?.seq
  }

  relationship(principal: PrincipalKey): Relationship | undefined {
    return this.state.relationships.find((row) => row.principal === principal)
  }

  item(principal: PrincipalKey, seq: number): InboxItem | undefined {
    return this.state.items.find((item) => item.principal === principal && item.seq === seq)
  }

  links(seq: number): Links {
    return { links: this.state.links.filter((link) => link.seq === seq), more: false }
  }

  decide(command: Command): Decision<AnyAnswer> {
    return decide(this, command)
  }

  /** The same world after this time. */
  later(ms: number): FakeWorld {
    return new FakeWorld({ ...this.state, now: this.now + ms }, this.random)
  }

  /** The world after the decision. */
  after(decision: Decision<unknown>): FakeWorld {
    const { state } = this
    const tasks = new Map(state.tasks.map((task) => [task.task_id, task]))
    let { clock } = state.tenant
    const owners = new Map(state.owners.map((owner) => [owner.owner, owner]))
    for (const task of decision.tasks) {
      if (!tasks.has(task.task_id)) {
        const queue = this.owner(this.settings.claim_order === 'fifo' ? EVERYONE : task.owner)
        owners.set(queue.owner, { ...queue, last_rank: task.rank })
      }
      if (task.status === 'leased') clock = Math.max(clock, task.rank)
      tasks.set(task.task_id, task)
    }
    const { relationship } = decision
    const closed = new Set(decision.closed.map(({ seq, principal }) => `${seq} ${principal}`))
    const rows = [...tasks.values()]
    return new FakeWorld(
      {
        ...state,
        tasks: rows,
        tenant: { ...tenantOf(rows), clock, seq: state.tenant.seq + decision.receipts.length },
        questions: [
          ...state.questions.filter(
            (before) => !decision.questions.some((after) => isSameQuestion(before, after)),
          ),
          ...decision.questions,
        ].sort((a, b) => a.n - b.n),
        specs: decision.spec === null ? state.specs : [...state.specs, decision.spec],
        owners: [...owners.values()],
        receipts: [...state.receipts, ...decision.receipts],
        relationships: relationship
          ? [...state.relationships.filter((row) => row.principal !== relationship.principal), relationship]
          : state.relationships,
        items: [
          ...state.items.filter((item) => !decision.marked.some((after) => isSameItem(item, after))),
          ...decision.filed,
          ...decision.marked,
        ],
        links: [...state.links, ...(decision.flow?.linked ?? [])].filter(
          (link) => !decision.flow?.followed.some((each) => isSameLink(link, each)),
        ),
        obligations: [...state.obligations, ...decision.opened].filter(
          ({ seq, principal }) => !closed.has(`${seq} ${principal}`),
        ),
      },
      this.random,
    )
  }
}

function isSameQuestion(a: Question, b: Question): boolean {
  return a.task_id === b.task_id && a.n === b.n
}

function isSameItem(a: InboxItem, b: InboxItem): boolean {
  return a.principal === b.principal && a.seq === b.seq
}

function tenantOf(tasks: readonly Task[]): Tenant {
  return {
    tenant: 1,
    salt: SALT,
    seq: tasks.length,
    clock: 0,
    open_tasks: tasks.filter(isOpen).length,
    active_leases: tasks.filter((task) => task.status === 'leased' || task.status === 'running').length,
    ended_tasks: tasks.filter((task) => !isOpen(task)).length,
    receipt_bytes: 0,
    lanes: 2,
    lanes_version: 1,
  }
}

function isOwed(task: Task): boolean {
  return isOpen(task) || task.outcome.obligation_open
}

function obligation({ tenant, owner, seq, task_id }: Task): Obligation {
  return { tenant, principal: owner, seq, task_id }
}

/** Makes any change of the value throw a TypeError. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}

function isSameLink(a: TaskLink, b: TaskLink): boolean {
  return a.seq === b.seq && a.task_id === b.task_id && a.n === b.n
}
