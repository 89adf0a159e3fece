import type { Question } from '../../core/question.ts'
import type { TaskSpec } from '../../core/task.ts'
import type { AuditRows } from '../audit.ts'
import type { Entries, Logs } from '../entries.ts'
import type { Erasure } from '../erasure.ts'
import type { FlowReads } from '../flow.ts'
import type { HistoryRows } from '../history.ts'
import type { Known } from '../layout/known.ts'
import type { Rows } from '../layout/rows.ts'
import type { LedgerLog } from '../ledger-log.ts'
import type { OutboxRows } from '../outbox.ts'
import type { Reads } from '../reads.ts'
import type { Retention } from '../retention.ts'
import type { Changes, Loaded, Need, TaskRef } from '../store.ts'
import type { UsageRows } from '../usage.ts'
import { prepareAudit } from './audit.ts'
import {
  type Change,
  connectReader,
  connectWriter,
  type Database,
  type Driver,
  type Statement,
} from './database.ts'
import { prepareEntries } from './entries.ts'
import { prepareErasure } from './erasure.ts'
import { prepareFlowReads } from './flow-reads.ts'
import { prepareHistory } from './history.ts'
import { prepareInboxReads } from './inbox.ts'
import { prepareLedgerLog } from './ledger-log.ts'
import { DUE_LEASES, DUE_WAITING, NEXT_WAKE, OVERDUE, prepareLoad } from './load.ts'
import { prepareLogs } from './logs.ts'
import { migrate } from './migrate.ts'
import { prepareOutbox } from './outbox.ts'
import { prepareQuestionLookup, prepareQuestionReads } from './questions.ts'
import { prepareReads } from './reads.ts'
import { prepareRetention } from './retention.ts'
import { prepareUnsettledLookup } from './task-links.ts'
import { prepareSpecLookup } from './tasks.ts'
import { prepareUsage } from './usage.ts'
import { prepareWrite } from './write.ts'

/** An open database, and all that is prepared on it. */
export interface Session {
  readonly writer: Database
  readonly reader: Database
  readonly reads: Reads
  readonly entries: Entries
  readonly logs: Logs
  readonly audit: AuditRows
  readonly erasure: Erasure
  readonly retention: Retention
  readonly flow: FlowReads
  readonly usage: UsageRows
  readonly history: HistoryRows
  readonly outbox: OutboxRows
  readonly ledgerLog: LedgerLog
  readonly load: (need: Need, loaded: Loaded, known: Known) => void
  readonly write: (changes: Changes, rows: Rows, loaded: Loaded) => void
  readonly findSpec: (tenant: number, seq: number) => TaskSpec | undefined
  readonly findQuestions: (tenant: number, taskId: string) => Question[]
  readonly findTenant: Statement
  readonly allTenants: Statement
  readonly insertTenant: Statement
  readonly busyTenants: Statement
  /** Live rows as arrays, by what has come for them. */
  readonly due: readonly Statement[]
  readonly unsettled: (tenant: number, limit: number) => TaskRef[]
  readonly nextWake: Statement
  readonly ping: Statement
  close(): void
}

export function openSession(path: string, driver: Driver, now: number, change: Change): Session {
  const opened: Database[] = []
  const close = () => {
    for (const database of opened.splice(0).reverse()) database.close()
  }
  try {
    const writer = connectWriter(path, driver)
    opened.push(writer)
    migrate(writer, now)
    const isFile = path !== ':memory:'
    const reader = isFile ? connectReader(path, driver) : writer
    if (isFile) opened.push(reader)
    return {
      writer,
      reader,
      reads: { ...prepareReads(reader), ...prepareInboxReads(reader), ...prepareQuestionReads(reader) },
      entries: prepareEntries(reader, writer, change),
      logs: prepareLogs(reader, writer, change),
      audit: prepareAudit(reader, writer, change),
      erasure: prepareErasure(reader, writer, change),
      retention: prepareRetention(reader, writer, change),
      flow: prepareFlowReads(reader),
      usage: prepareUsage(reader, writer, change),
      history: prepareHistory(reader, writer, change),
      outbox: prepareOutbox(reader, writer, change),
      ledgerLog: prepareLedgerLog(reader, writer, change),
      load: prepareLoad(writer),
      write: prepareWrite(writer),
      findSpec: prepareSpecLookup(writer),
      findQuestions: prepareQuestionLookup(writer),
      findTenant: reader.prepare('SELECT tenant, name, salt FROM tenants WHERE name = ?'),
      allTenants: reader.prepare('SELECT tenant, name, salt FROM tenants ORDER BY tenant'),
      insertTenant: writer.prepare(
        'INSERT INTO tenants (name, salt) VALUES (?, ?) ON CONFLICT (name) DO NOTHING',
      ),
      busyTenants: reader.prepare('SELECT tenant FROM tenants WHERE open_tasks > 0'),
      due: [DUE_LEASES, DUE_WAITING, OVERDUE].map((sql) => reader.prepareArrays(sql)),
      unsettled: prepareUnsettledLookup(reader),
      nextWake: reader.prepare(NEXT_WAKE),
      ping: reader.prepare('SELECT tenant FROM tenants LIMIT 1'),
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}
