import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { canonical, canonicalWithin } from '../../core/json/json.ts'
import { checkLease } from '../../core/lease.ts'
import { LOG_LEVELS } from '../../core/log.ts'
import type { Caller } from '../../core/principal.ts'
import type { LogLine } from '../../store/logs.ts'
import { jsonObject, leaseFields, parse, text } from '../input.ts'
import { keptOf, mayRedact } from '../policies/results.ts'
import type { Services } from '../services.ts'
import { leaseCall } from './lease-call.ts'

const MAX_LINES_PER_CALL = 100
const MAX_TEXT = 8_192
const MAX_CONTEXT_BYTES = 4 * 1024

/** What the log of one task holds at most. */
export const LOG_LIMITS = { lines: 10_000, bytes: 1024 * 1024 } as const

/** Calls for one task at the same time number their lines alike, and only one of them succeeds. */
const MAX_TRIES = 10

export const appendLogsInput = z.strictObject({
  ...leaseFields,
  lines: z
    .array(
      z.strictObject({
        level: z.enum(LOG_LEVELS).default('info'),
        text: text(MAX_TEXT).meta({ description: 'What happened' }),
        context: jsonObject.optional().meta({ type: 'object', description: 'More about it; at most 4 KiB' }),
      }),
    )
    .min(1)
    .max(MAX_LINES_PER_CALL),
})

export interface AppendLogsAnswer {
  readonly ok: true
  readonly accepted: number
  /** Lines for which the log had no room. */
  readonly dropped: number
}

type Line = Pick<LogLine, 'level' | 'text' | 'context'>

/** Lines are not part of the ledger: they are written beside it, without waiting for the lock of the tenant. */
export async function appendLogs(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<AppendLogsAnswer> {
  const asked = parse(appendLogsInput, input)
  const lease = await leaseCall(engine, caller, asked)
  const lines = await redacted(engine, caller, asked)
  const { store } = engine
  const [now, task] = await engine.reading(() =>
    Promise.all([store.now(), store.reads.state(lease.tenant, lease.task_id)]),
  )
  checkLease(task, lease, now)
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    const last = await engine.reading(() => store.logs.last(lease.tenant, lease.task_id))
    const added = fitting(lines, last, { ...lease, at: now })
    if (added.length > 0 && !(await engine.reading(() => store.logs.add(added)))) continue
    engine.workers.saw(lease)
    const accepted = added.filter((line) => !line.is_last).length
    return { ok: true, accepted, dropped: lines.length - accepted }
  }
  throw new Fault('OVERLOADED', { task_id: lease.task_id })
}

async function redacted(
  engine: Services,
  caller: Caller,
  { task_id, lines }: z.output<typeof appendLogsInput>,
): Promise<Line[]> {
  const checked = lines.map(({ level, text, context }, i) => {
    const path = `lines.${i}.context`
    if (context === undefined) return { level, text, context: null, given: undefined }
    return { level, text, context: canonicalWithin(context, path, MAX_CONTEXT_BYTES), given: context }
  })
  const tenant = await engine.tenant(caller.tenant)
  if (!mayRedact(engine, tenant.tenant)) return checked
  const kept = await keptOf(engine, tenant, task_id)
  return checked.map(({ level, text, given }) => ({
    level,
    text: kept.text(text),
    context: given === undefined ? null : canonical(kept.object(given)),
  }))
}

/** The lines for which there is room. Where there is none, a last line says so, and nothing comes after it. */
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
  text: `The log of this task is full (${LOG_LIMITS.lines} lines or ${LOG_LIMITS.bytes} bytes): what comes after this line was dropped.`,
  context: null,
}

function sizeOf({ text, context }: Line): number {
  return Buffer.byteLength(text) + (context === null ? 0 : Buffer.byteLength(context))
}
