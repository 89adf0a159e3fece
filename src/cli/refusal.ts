import { z } from 'zod'
import type { ErrorCode } from '../core/errors.ts'
import { CliError, EXIT, type ExitCode } from './exit.ts'

const errorShape = z.looseObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  details: z.record(z.string(), z.unknown()).optional(),
  request_id: z.string().optional(),
})

/** What to do next, in commands. The hints of the server name operations and fields of the API. */
const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  VALIDATION_ERROR: 'Correct the value and run the command again; --help shows what it takes.',
  UNAUTHENTICATED: 'Give the key with --key, or set ASYNCGATE_API_KEY.',
  FORBIDDEN: 'Use the key of somebody with the required role (--key), or act on your own tasks only.',
  TASK_NOT_FOUND: 'Check the task_id; "asyncgate tasks list" shows the tasks.',
  QUESTION_NOT_FOUND: '"asyncgate tasks show TASK" shows what the task waits for, if anything.',
  RECEIPT_NOT_FOUND: 'Check the receipt_id; "asyncgate receipts" shows the receipts.',
  SCHEDULE_NOT_FOUND: 'Check the schedule_id; "asyncgate schedules list" shows the schedules.',
  TASK_TYPE_UNKNOWN:
    'Check the type; "asyncgate types list" shows those that are registered, and "asyncgate types register" adds one.',
  TASK_TYPE_DISABLED: 'An admin enables it with "asyncgate types enable TYPE".',
  EMAIL_NOT_FOUND: 'Check the id; "asyncgate emails list" shows the mails.',
  WORKER_NOT_FOUND: 'Check the worker_id; "asyncgate workers" shows the workers of the last day.',
  SESSION_NOT_FOUND: 'Check the session_id; "asyncgate sessions" shows the live sessions.',
  UPSTREAM_NOT_FOUND: 'Check the name; "asyncgate upstreams list" shows the upstreams.',
  UPSTREAM_TOOL_NOT_FOUND:
    'Check the tool; "asyncgate upstreams show NAME" shows its tools, and why one is not offered.',
  UPSTREAM_TOOL_QUARANTINED:
    'Read its definition with "asyncgate upstreams show NAME"; "asyncgate upstreams accept NAME TOOL" accepts it.',
  POLICY_BLOCKED:
    'An admin sees the rules with "asyncgate policies list" and changes them with "policies set".',
  POLICY_NOT_FOUND:
    'Check the id; "asyncgate policies list" and "asyncgate policies patterns" show those that there are.',
  LEASE_INVALID_OR_EXPIRED: '"asyncgate tasks show TASK" shows what became of the task.',
  INVALID_STATE_TRANSITION: '"asyncgate tasks show TASK" shows the status of the task.',
  ALREADY_DECIDED: 'The first decision stands; "asyncgate approvals show TASK" shows it.',
  CONTENT_CHANGED: 'Nothing was decided. Look at it again with "asyncgate approvals show TASK", then decide.',
  RESULT_CONFLICT: 'The first result stands; "asyncgate tasks show TASK" shows it.',
  RESULT_NOT_FOUND: '"asyncgate tasks show TASK" shows what there is of the result, and where.',
  CHANNEL_NOT_CONFIGURED: 'Configure the result channel that is named here; see docs/configuration.md.',
  NOT_CONFIGURED: 'Set the settings that are named here and restart the server; see docs/configuration.md.',
  READ_NOT_DONE: '"asyncgate tasks wait TASK" waits for what was to be read.',
  UPSTREAM_OUTCOME_UNKNOWN:
    'Look at the upstream whether the call had its effect. If it had none, "asyncgate tasks retry TASK" makes it again.',
  UPSTREAM_REFUSED: 'Sending the same call again will not help. What the upstream said is shown here.',
  UPSTREAM_UNAVAILABLE: 'Try again after a pause; "asyncgate upstreams show NAME" shows how the upstream is.',
  QUOTA_EXCEEDED:
    'Wait until open tasks have finished, or cancel some with "asyncgate tasks cancel". What is used up is shown here.',
  SESSION_LIMIT_EXCEEDED:
    'Wait for calls that were made, or cancel some. "asyncgate sessions set" changes the limit of one session.',
  MEMORY_REFUSED: 'The result is still here. Tell the operator of the memory what it answered.',
}

/** What a refusal of the server means here. `withheld` says which key was not sent, and why. */
export function refusal(status: number, text: string, withheld?: string): CliError {
  const body = errorShape.safeParse(jsonOrUndefined(text)).data
  if (body === undefined) {
    const hint = 'Check --url: this may not be an AsyncGate.'
    return new CliError(exitCodeOf(status), `The server answered with HTTP ${status}.`, hint)
  }
  const hint = [
    ...detailLines(body.code, body.details ?? {}),
    ...(status === 401 && withheld !== undefined ? [withheld] : []),
    hintFor(body.code) ?? body.hint,
  ]
  return new CliError(exitCodeOf(status), `${body.message} (${body.code})`, hint.join('\n'), body)
}

export function hintFor(code: string): string | undefined {
  return Object.entries(HINTS).find(([known]) => known === code)?.[1]
}

/** What the message does not say yet: that of a wrong input has its path and the problem. */
function detailLines(code: string, details: Readonly<Record<string, unknown>>): string[] {
  if (code === 'VALIDATION_ERROR') return []
  return Object.entries(details).map(
    ([name, value]) => `  ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.refused
  if (status === 404) return EXIT.notFound
  return status === 400 ? EXIT.usage : EXIT.failure
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
