import type { Offer } from '../client/operations.ts'
import type { Calls } from './calls.ts'
import { type Duration, milliseconds } from './duration.ts'
import type { HeldLease, TaskSignal } from './lease.ts'
import type { Leases } from './leases.ts'
import { TaskLog, type WorkerLog } from './log.ts'
import { LogLines } from './log-lines.ts'
import { type Progress, type ProgressOptions, ProgressReports } from './progress.ts'
import {
  type Approval,
  type ApprovalRequest,
  type AskRequest,
  type Question,
  Questions,
} from './questions.ts'
import type { SchemaOutput, StandardSchema } from './schema.ts'

/** What the task is, as the server has it. */
export type TaskInfo = Omit<Offer, 'lease_id' | 'fence' | 'attempt' | 'expires_at' | 'expires_in_ms'>

/** What a handler has besides its input. */
export interface TaskContext {
  readonly task: TaskInfo
  /** How many failures led to this try: 0 for the first. */
  readonly attempt: number
  /** Higher than that of every earlier lease of the task: let what you change refuse a lower one than it has seen. */
  readonly fence: number
  /** Aborts when the work is to stop; `signal.reason.kind` says why. Pass it to `fetch` and the like. */
  readonly signal: TaskSignal
  /**
   * Tells how far the work is. Call it as often as you like; only the latest is sent, and every milestone. It never
   * throws.
   */
  readonly progress: (progress: Progress, options?: ProgressOptions) => void
  /** Log lines with the ids of the task. The server keeps them with the task, except those for debugging. */
  readonly log: TaskLog
  /** Makes the lease this long from now, and keeps it so. False if the server does not allow it. */
  readonly extend: (duration: Duration) => Promise<boolean>
  /**
   * Asks the agent's side for something. Without an answer yet the run ends here and the task waits as `input_required`;
   * with one the handler is run again, and this gives the answer, provided that it asks the same then. A question that
   * differs from the recorded one is a new question.
   */
  readonly ask: <Schema extends StandardSchema>(request: AskRequest<Schema>) => Promise<SchemaOutput<Schema>>
  /**
   * Asks a person for a yes, in the same way; the task waits as `pending_approval`. A no cancels the task, so that this
   * only ever goes on with a yes.
   */
  readonly approval: (request: ApprovalRequest) => Promise<Approval>
  /** The same for every try of this task, and of no other task: for services that do each key once. */
  readonly idempotencyKey: string
}

export interface OpenContext {
  readonly ctx: TaskContext
  /** What the handler has asked and is to be told. */
  readonly question: Question | undefined
  /** Resolves when the last lines of the log were sent, or would take too long. */
  close(): Promise<void>
}

export function openContext(
  lease: HeldLease,
  leases: Leases,
  calls: Calls,
  log: WorkerLog,
  sendsLogs: boolean,
): OpenContext {
  const { offer } = lease
  let reports: ProgressReports | undefined
  let taskLog: TaskLog | undefined
  let lines: LogLines | undefined
  let questions: Questions | undefined
  const asking = () => {
    questions ??= new Questions(offer)
    return questions
  }
  const progress = (latest: Progress, options?: ProgressOptions) => {
    reports ??= new ProgressReports(lease, leases, calls, log)
    reports.report(latest, options?.milestone === true)
  }
  return {
    ctx: {
      task: offer,
      attempt: offer.attempt,
      fence: offer.fence,
      get signal() {
        return lease.signal
      },
      progress,
      get log() {
        taskLog ??= new TaskLog(log.of(lease), (level, message, fields) => {
          if (!sendsLogs) return
          lines ??= new LogLines(lease, calls, log)
          lines.add(level, message, fields)
        })
        return taskLog
      },
      extend: async (duration) => leases.extend(lease, milliseconds(duration)),
      ask: async (request) => asking().ask(request),
      approval: async (request) => asking().approval(request),
      idempotencyKey: offer.task_id,
    },
    get question() {
      return questions?.open
    },
    async close() {
      reports?.close()
      await lines?.close()
    },
  }
}
