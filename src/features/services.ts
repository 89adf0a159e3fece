import { Engine, type EngineOptions } from '../engine/engine.ts'
import { AuditLog, type AuditOptions } from './audit/audit-log.ts'
import type { DecisionListener } from './audit/decisions.ts'
import { KeyUses } from './audit/recording.ts'
import { BulkOperations } from './bulk-operations/bulk-operations.ts'
import type { TenantMail } from './email/email.ts'
import { HistoryRecorder } from './history/history-recorder.ts'
import { Identities } from './identities/identities.ts'
import { Fetches } from './inbox/fetches.ts'
import { Keys } from './keys/keys.ts'
import { LeaseRefusals } from './leases/lease-refusals.ts'
import { Checkpointer } from './ledger-log/checkpointer.ts'
import { type LedgerLogOptions, LedgerLogs } from './ledger-log/ledger-log.ts'
import { NO_RATE_LIMITS, type RateLimitOptions, RateLimits } from './limits/rate-limits.ts'
import { TenantLimitsRegistry } from './limits/tenant-limits.ts'
import { type Address, Links } from './links.ts'
import { Oauth } from './oauth/oauth.ts'
import { type PolicyOptions, StoredPolicies } from './policies/stored-policies.ts'
import { Erasures } from './privacy/erasures.ts'
import { LedgerEmissions } from './receipts/ledger-emissions.ts'
import type { SharedLedger } from './receipts/shared-ledger.ts'
import type { Memory, ResultStore } from './results/result-store.ts'
import { Uploads } from './results/uploads.ts'
import type { RetentionOptions } from './retention/port.ts'
import { Retention } from './retention/retention.ts'
import { ScheduleWatch } from './schedules/schedule-watch.ts'
import { ToolCallQueue } from './sessions/tool-call-queue.ts'
import { UsualDurations } from './task-types/durations.ts'
import { Schemas } from './task-types/schemas.ts'
import { TaskTypes } from './task-types/task-types.ts'
import { Cancellations } from './tasks/cancellations.ts'
import { BlockedTools } from './upstreams/blocked-tools.ts'
import type { TenantUpstreams } from './upstreams/upstreams.ts'
import { type UsageOptions, UsageRecorder } from './usage/usage-recorder.ts'
import { WebhookAttempts } from './webhooks/attempts.ts'
import { Publications } from './workers/publications.ts'
import { WorkerRegistry } from './workers/registry.ts'

export interface ServicesOptions extends EngineOptions {
  /** Stores results that are too large for their task. Without it such results are refused. */
  readonly results?: ResultStore | undefined
  /** The environment that clients see: development, staging or production. */
  readonly environment?: string
  /** The public address of this server, for links in responses; undefined until it is known. */
  readonly address?: () => Address | undefined
  /** Without it the email operations are refused. */
  readonly mail?: TenantMail
  /** The service that results can be promoted to. */
  readonly memory?: Memory | undefined
  /** Without it the upstream operations are refused. */
  readonly upstreams?: TenantUpstreams
  /** The default actions, and the fixed rules that no operation can change. */
  readonly policy?: PolicyOptions
  readonly audit?: AuditOptions
  /** Receives every authorization decision; none are reported if absent. */
  readonly onDecision?: DecisionListener | undefined
  readonly usage?: UsageOptions
  /** The ReceiptGate that receipts are sent to; none by default. */
  readonly sharedLedger?: SharedLedger | undefined
  readonly ledgerLog?: LedgerLogOptions
  readonly retention?: RetentionOptions
  /** The names of the tenants that have a secret for completion webhooks; none by default. */
  readonly webhookTenants?: ReadonlySet<string>
  /** Without it nothing is limited. */
  readonly rateLimits?: RateLimitOptions
}

/** The registries and ports that operations use, on top of the engine. */
export class Services {
  readonly engine: Engine
  readonly environment: string
  readonly results: ResultStore | undefined
  readonly uploads: Uploads
  readonly scheduleWatch: ScheduleWatch
  readonly schemas = new Schemas()
  readonly publications: Publications
  readonly taskTypes: TaskTypes
  readonly durations: UsualDurations
  readonly workers: WorkerRegistry
  readonly fetches: Fetches
  readonly cancellations: Cancellations
  readonly mail: TenantMail | undefined
  readonly memory: Memory | undefined
  readonly sharedLedger: SharedLedger | undefined
  readonly upstreams: TenantUpstreams | undefined
  readonly policies: StoredPolicies
  readonly blockedTools: BlockedTools
  readonly toolCalls: ToolCallQueue
  readonly keys: Keys
  readonly oauth: Oauth
  readonly identities: Identities
  readonly links: Links
  readonly audit: AuditLog
  readonly onDecision: DecisionListener | undefined
  readonly keyUses: KeyUses
  readonly erasures: Erasures
  readonly bulkOperations: BulkOperations
  readonly retention: Retention
  readonly usage: UsageRecorder
  readonly history: HistoryRecorder
  readonly ledgerLogs: LedgerLogs
  /** Undefined if checkpoints are made only when one is needed. */
  readonly checkpointer: Checkpointer | undefined
  readonly webhookTenants: ReadonlySet<string>
  readonly webhookAttempts = new WebhookAttempts()
  readonly ledgerEmissions = new LedgerEmissions()
  readonly limits: TenantLimitsRegistry
  readonly rateLimits: RateLimits
  readonly #refusals: LeaseRefusals

  constructor(options: ServicesOptions) {
    const engine = new Engine(options)
    this.engine = engine
    this.environment = options.environment ?? 'development'
    this.results = options.results
    this.mail = options.mail
    this.memory = options.memory
    this.sharedLedger = options.sharedLedger
    this.upstreams = options.upstreams
    this.links = new Links(options.address)
    this.webhookTenants = options.webhookTenants ?? new Set()
    this.uploads = new Uploads(this)
    this.scheduleWatch = new ScheduleWatch(engine)
    this.publications = new Publications(engine)
    this.taskTypes = new TaskTypes(engine, this.publications)
    this.durations = new UsualDurations(engine)
    this.policies = new StoredPolicies(engine, options.policy)
    this.blockedTools = new BlockedTools(this)
    this.workers = new WorkerRegistry(engine, this.publications)
    this.fetches = new Fetches(engine)
    this.cancellations = new Cancellations(engine)
    this.toolCalls = new ToolCallQueue(this)
    this.keys = new Keys(engine)
    this.oauth = new Oauth(engine)
    this.identities = new Identities(engine)
    this.audit = new AuditLog(engine, options.audit)
    this.onDecision = options.onDecision
    this.keyUses = new KeyUses(this.audit)
    this.retention = new Retention(this, options.retention)
    this.erasures = new Erasures(this)
    this.usage = new UsageRecorder(engine, options.usage)
    engine.events.onCommit(({ usage }) => this.usage.committed(usage))
    this.history = new HistoryRecorder(engine)
    this.ledgerLogs = new LedgerLogs(engine, this.retention.archive, options.ledgerLog)
    this.checkpointer = this.#openCheckpointer(options.ledgerLog)
    const rates = options.rateLimits ?? NO_RATE_LIMITS
    this.limits = new TenantLimitsRegistry(engine, rates)
    this.rateLimits = new RateLimits({ engine, registry: this.limits, audit: this.audit }, rates)
    this.bulkOperations = new BulkOperations(this)
    this.#refusals = new LeaseRefusals(engine)
    engine.onRefused((command, fault) => {
      if ('lease_id' in command) this.cancellations.refused(command, fault)
      this.#refusals.refused(command, fault)
      if (fault.code === 'QUOTA_EXCEEDED') {
        this.retention.makeRoom(command.tenant).catch((error: unknown) => engine.report(error))
      }
    })
  }

  #openCheckpointer({ checkpointSeconds = 0 }: LedgerLogOptions = {}): Checkpointer | undefined {
    if (checkpointSeconds === 0) return undefined
    const { engine, ledgerLogs: logs } = this
    const { store } = engine
    const checkpointer = new Checkpointer(
      { logs, store, report: (error) => engine.report(error) },
      checkpointSeconds,
    )
    engine.events.onCommit(({ usage }) => {
      for (const { tenant } of usage) checkpointer.committed(tenant)
    })
    return checkpointer
  }

  /** Stops background work, lets waiting calls return, and waits for commands in progress. The store stays open. */
  async stop(): Promise<void> {
    await this.engine.quiesce()
    await Promise.all([
      this.uploads.stop(),
      this.scheduleWatch.stop(),
      this.erasures.stop(),
      this.bulkOperations.stop(),
      this.retention.stop(),
    ])
    this.blockedTools.stop()
    await Promise.all([
      this.taskTypes.stop(),
      this.policies.stop(),
      this.limits.stop(),
      this.workers.drains.stop(),
      this.schemas.close(),
    ])
    // Calls that waited for one of these continue now and submit their commands.
    await new Promise((resolve) => setImmediate(resolve))
    await this.settled()
    await this.workers.stop()
    await this.audit.stop()
    await this.usage.stop()
    await this.history.stop()
    await this.checkpointer?.stop()
  }

  /** Resolves when everything that finished requests left to be written has been written. */
  async settled(): Promise<void> {
    await this.fetches.settled()
    await this.engine.drained()
    await this.#refusals.settled()
    await this.cancellations.settled()
    await this.erasures.settled()
    await this.bulkOperations.settled()
    await this.retention.settled()
  }
}
