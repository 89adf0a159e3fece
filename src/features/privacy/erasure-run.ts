import { taskSeq } from '../../core/ids.ts'
import { type PrincipalKey, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import type { Receipt } from '../../core/receipt.ts'
import { isOpen } from '../../core/task.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskLine } from '../../store/reads.ts'
import type { TenantMail } from '../email/email.ts'
import type { Identities } from '../identities/identities.ts'
import type { Keys } from '../keys/keys.ts'
import type { Oauth } from '../oauth/oauth.ts'
import { removeStoredResults } from '../results/remove-results.ts'
import type { ResultStore } from '../results/result-store.ts'
import type { Retention } from '../retention/retention.ts'
import type { UsageRecorder } from '../usage/usage-recorder.ts'
import type { ErasureRecord } from './erasure-record.ts'

/** Keys and tasks of one step. */
const PER_STEP = 50
/** Rows of the ledger of one step. */
const ROWS_PER_STEP = 100
/** Tasks that are listed at once. */
const OWNED_PAGE = 1_000

const REASON = 'The data of the owner of the task is erased.'

export interface ErasureDeps {
  readonly engine: Engine
  readonly keys: Keys
  readonly oauth: Pick<Oauth, 'grants'>
  readonly identities: Pick<Identities, 'of' | 'remove'>
  readonly mail: TenantMail | undefined
  readonly results: ResultStore | undefined
  readonly retention: Pick<Retention, 'archive'>
  readonly usage: Pick<UsageRecorder, 'freed'>
}

/** Erases the data of one principal step by step. A step that was done already has no further effect. */
export class ErasureRun {
  readonly #deps: ErasureDeps
  readonly #tenant: number
  readonly #principal: PrincipalKey
  #owned: ReadonlySet<number> | undefined

  constructor(deps: ErasureDeps, tenant: number, principal: PrincipalKey) {
    this.#deps = deps
    this.#tenant = tenant
    this.#principal = principal
  }

  next(record: ErasureRecord): Promise<ErasureRecord> {
    switch (record.stage) {
      case 'keys':
        return this.#eraseKeys(record)
      case 'tasks':
        return this.#eraseTasks(record)
      case 'receipts':
        return this.#eraseReceipts(record)
      case 'archives':
        return this.#eraseArchives(record)
      case 'done':
        return Promise.resolve(record)
    }
  }

  /** First of all, so that nothing more comes from these keys, nor from sign-ins and tokens. */
  async #eraseKeys(record: ErasureRecord): Promise<ErasureRecord> {
    const { keys, oauth, identities } = this.#deps
    const { kind, id } = parsePrincipalKey(this.#principal)
    const mapped = kind === 'human' ? await identities.of(this.#tenant, id) : []
    for (const { identity_id } of mapped) await identities.remove(this.#tenant, identity_id)
    await oauth.grants.revokeMatching(this.#tenant, ({ principal, person }) =>
      [principalKey(principal), `human:${person}`].includes(this.#principal),
    )
    const page = await keys.page(this.#tenant, String(record.position ?? ''), PER_STEP)
    const own = page.filter(({ principal }) => principalKey(principal) === this.#principal)
    for (const { key_id } of own) await keys.erase(this.#tenant, key_id, record.requested_by)
    const counted = { ...record, keys: record.keys + own.length }
    return page.length < PER_STEP
      ? { ...counted, stage: 'tasks', position: null }
      : { ...counted, position: page.at(-1)?.key_id ?? null }
  }

  async #eraseTasks(record: ErasureRecord): Promise<ErasureRecord> {
    const { engine } = this.#deps
    const lines = await this.#ownTasks(Number(record.position ?? Number.MAX_SAFE_INTEGER), PER_STEP)
    for (const line of lines) await this.#eraseTask(line, record.requested_by)
    const counted = { ...record, tasks: record.tasks + lines.length }
    if (lines.length === PER_STEP) return { ...counted, position: lines.at(-1)?.seq ?? null }
    const { seq } = await engine.reading(() => engine.store.reads.counters(this.#tenant))
    return { ...counted, stage: 'receipts', position: null, last_seq: seq }
  }

  /** A task that is open is canceled first. */
  async #eraseTask({ task_id, status }: TaskLine, by: PrincipalKey): Promise<void> {
    const { engine, results } = this.#deps
    const tenant = this.#tenant
    const mail = this.#deps.mail?.of(tenant)
    if (!isTerminal(status)) {
      await engine.submit({ verb: 'cancel', tenant, task_id, by, role: 'admin', reason: REASON })
    }
    const found = await engine.reading(() => engine.store.reads.task(tenant, task_id))
    if (found === undefined || isOpen(found.task)) throw new Error(`task ${task_id} was not canceled`)
    const { task, spec } = found
    await removeStoredResults({ engine, results }, task)
    for (const email of (await mail?.ofTask(tenant, task_id)) ?? []) await mail?.remove(tenant, email)
    const now = await engine.reading(() => engine.store.now())
    await engine.writing(() => engine.store.erasure.task(task, spec, now))
  }

  /** Receipts from and to the principal, and all receipts of its tasks. */
  async #eraseReceipts(record: ErasureRecord): Promise<ErasureRecord> {
    const { engine } = this.#deps
    const { erasure } = engine.store
    const last = record.last_seq ?? 0
    const owned = await this.#ownedSeqs(last)
    const isCovered = ({ seq, from, to, task_id }: Receipt) =>
      seq <= last &&
      (from === this.#principal || to === this.#principal || (task_id !== null && owned.has(seqOf(task_id))))
    const now = await engine.reading(() => engine.store.now())
    const after = Number(record.position ?? 0)
    const page = await engine.writing(() =>
      erasure.receipts(this.#tenant, after, ROWS_PER_STEP, isCovered, now),
    )
    this.#deps.usage.freed(this.#tenant, page.bytes)
    const counted = { ...record, receipts: record.receipts + page.erased, position: page.next }
    if (page.next !== null && page.next <= last) return counted
    await engine.writing(() => erasure.relationship(this.#tenant, this.#principal))
    return { ...counted, stage: 'archives', position: null }
  }

  /** The same receipts, if they were archived. */
  async #eraseArchives(record: ErasureRecord): Promise<ErasureRecord> {
    const { engine, retention } = this.#deps
    const last = record.last_seq ?? 0
    const isCovered = ({ seq, from, to }: Receipt, owner: PrincipalKey | undefined) =>
      seq <= last && [from, to, owner].includes(this.#principal)
    const now = await engine.reading(() => engine.store.now())
    const after = String(record.position ?? '')
    const { next, erased } = await retention.archive.erase(this.#tenant, after, isCovered, now)
    const counted = { ...record, receipts: record.receipts + erased, position: next }
    return next === null ? { ...counted, stage: 'done', finished_at: now } : counted
  }

  async #ownedSeqs(last: number): Promise<ReadonlySet<number>> {
    if (this.#owned !== undefined) return this.#owned
    const seqs = new Set<number>()
    for (let before = last + 1; ; ) {
      const lines = await this.#ownTasks(before, OWNED_PAGE)
      for (const { seq } of lines) seqs.add(seq)
      const end = lines.at(-1)
      if (end === undefined || lines.length < OWNED_PAGE) break
      before = end.seq
    }
    this.#owned = seqs
    return seqs
  }

  #ownTasks(before: number, limit: number): Promise<TaskLine[]> {
    const { engine } = this.#deps
    const path = { by: 'owner', owner: this.#principal } as const
    return engine.reading(() => engine.store.reads.scan(this.#tenant, path, before, limit))
  }
}

/** 0 is the seq of no task. */
function seqOf(taskId: string): number {
  return taskSeq(taskId) ?? 0
}
