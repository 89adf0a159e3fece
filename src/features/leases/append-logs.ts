import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { canonical, canonicalWithin } from '../../core/json/json.ts'
import { checkLease } from '../../core/lease.ts'
import { LOG_LEVELS } from '../../core/log.ts'
import type { Caller } from '../../core/principal.ts'
import type { LogLine } from '../../store/entries.ts'
import { defineOperation, WRITES } from '../define-operation.ts'
import { jsonObject, leaseFields, text } from '../input.ts'
import { mayRedact, type RedactionDeps, redactorOf } from '../policies/results.ts'
import { leaseCall } from './lease-call.ts'
import { EXAMPLE_LEASE, ok } from './shape.ts'

const MAX_LINES_PER_CALL = 100
const MAX_TEXT = 8_192
const MAX_CONTEXT_BYTES = 4 * 1024

/** The size limits of the log of one task. */
export const LOG_LIMITS = { lines: 10_000, bytes: 1024 * 1024 } as const

/** Concurrent calls for one task give their lines the same numbers, and only one of them succeeds. */
const MAX_TRIES = 10

const appendLogsInput = z.strictObject({
  ...leaseFields,
  lines: z
    .array(
      z.strictObject({
        level: z.enum(LOG_LEVELS).default('info').describe('Severity of the line'),
        text: text(MAX_TEXT).describe('Text of the line'),
        context: jsonObject.optional().describe('Data about the line; at most 4 KiB'),
      }),
    )
    .min(1)
    .max(MAX_LINES_PER_CALL)
    .describe(
      'The lines, oldest first, each with level, text (at most 8,192 characters) and context (at most 4 KiB)',
    ),
})

/** Log lines are not part of the ledger: they are stored beside it, without waiting for the lock of the tenant. */
export const appendLogs = defineOperation({
  name: 'append_logs',
  title: 'Append to the log of a task',
  description:
    'For workers: adds up to 100 lines to the log of a task that you hold. The log helps people to find out what happened; ' +
    'it triggers no notification and is not part of the ledger. A task keeps 10,000 lines and 1 MiB; further lines are dropped.',
  input: appendLogsInput,
  output: z.object({
    ok,
    accepted: z.int().describe('Number of lines that were stored'),
    dropped: z.int().describe('Number of lines for which the log had no room'),
  }),
  actor: 'worker',
  access: 'lease',
  toolsets: ['worker'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/logs' },
  effect: WRITES,
  example: {
    ...EXAMPLE_LEASE,
    lines: [{ level: 'info', text: 'page 4 fetched', context: { bytes: 18211 } }],
  },
  async run({ engine, workers, policies, upstreams }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    const lines = await redacted({ engine, policies, upstreams }, caller, input)
    const { store } = engine
    const [now, task] = await engine.reading(() =>
      Promise.all([store.now(), store.reads.state(lease.tenant, lease.task_id)]),
    )
    checkLease(task, lease, now)
    for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
      const last = await engine.reading(() => store.logs.last(lease.tenant, lease.task_id))
      const added = fitting(lines, last, { ...lease, at: now })
      if (added.length > 0 && !(await engine.reading(() => store.logs.add(added)))) continue
      workers.saw(lease)
      const accepted = added.filter((line) => !line.is_last).length
      return { ok: true, accepted, dropped: lines.length - accepted } as const
    }
    throw new Fault('OVERLOADED', { task_id: lease.task_id })
  },
})

type Line = Pick<LogLine, 'level' | 'text' | 'context'>

async function redacted(
  deps: RedactionDeps,
  caller: Caller,
  { task_id, lines }: z.output<typeof appendLogsInput>,
): Promise<Line[]> {
  const checked = lines.map(({ level, text, context }, i) => {
    const path = `lines.${i}.context`
    if (context === undefined) return { level, text, context: null, given: undefined }
    return { level, text, context: canonicalWithin(context, path, MAX_CONTEXT_BYTES), given: context }
  })
  const tenant = await deps.engine.tenant(caller.tenant)
  if (!mayRedact(deps, tenant.tenant)) return checked
  const redactor = await redactorOf(deps, tenant, task_id)
  return checked.map(({ level, text, given }) => ({
    level,
    text: redactor.text(text),
    context: given === undefined ? null : canonical(redactor.object(given)),
  }))
}

/** The lines for which the log has room. When it is full, a last line says so, and no line follows it. */
function fitting(
  lines: readonly Line[],
  last: LogLine | undefined,
  { tenant, task_id, lease_id, at }: Pick<LogLine, 'tenant' | 'task_id' | 'lease_id' | 'at'>,
): LogLine[] {
  if (last?.is_last) return []
  const added: LogLine[] = []
  let n = last?.n ?? 0
  let total = last?.total ?? 0
  const add = (line: Line, is_last: boolean) => {
    n += 1
    total += sizeOf(line)
    const { level, text, context } = line
    added.push({ tenant, task_id, n, at, lease_id, level, text, context, total, is_last })
  }
  for (const line of lines) {
    if (n + 1 >= LOG_LIMITS.lines || total + sizeOf(line) > LOG_LIMITS.bytes) {
      add(FULL, true)
      break
    }
    add(line, false)
  }
  return added
}

const FULL: Line = {
  level: 'warn',
  text: `The log of this task is full (${LOG_LIMITS.lines} lines or ${LOG_LIMITS.bytes} bytes): everything after this line was dropped.`,
  context: null,
}

function sizeOf({ text, context }: Line): number {
  return Buffer.byteLength(text) + (context === null ? 0 : Buffer.byteLength(context))
}
