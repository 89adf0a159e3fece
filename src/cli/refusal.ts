import { GateError } from '../client/gate-error.ts'
import { ERRORS, type ErrorCode, type Fault } from '../core/errors.ts'
import { CliError, EXIT, type ExitCode } from './exit.ts'

const GIVE_KEY = 'Give the key with --key, or set ASYNCGATE_API_KEY.'

/** Hints that name commands. The hints of the server name operations and fields of the API. */
const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  VALIDATION_ERROR: 'Correct the value and run the command again; --help lists the options.',
  UNAUTHENTICATED: GIVE_KEY,
  FORBIDDEN: 'Use a key with the required role (--key), or act on your own tasks only.',
  TASK_NOT_FOUND: 'Check the task_id; "asyncgate tasks list" shows the tasks.',
  QUESTION_NOT_FOUND: '"asyncgate tasks show TASK" shows whether the task has an open question.',
  RECEIPT_NOT_FOUND: 'Check the receipt_id; "asyncgate receipts" shows the receipts.',
  SCHEDULE_NOT_FOUND: 'Check the schedule_id; "asyncgate schedules list" shows the schedules.',
  TASK_TYPE_UNKNOWN:
    'Check the type: "asyncgate types list" shows the known types, and "asyncgate types register" adds one.',
  TASK_TYPE_DISABLED: 'An admin enables it with "asyncgate types enable TYPE".',
  LEDGER_UNAVAILABLE:
    'Run the command again after the printed time; "committed" says whether the change was made, and it is not made twice.',
  EMAIL_NOT_FOUND: 'Check the id; "asyncgate emails list" shows the emails.',
  WORKER_NOT_FOUND: 'Check the worker_id; "asyncgate workers" shows the workers of the last day.',
  SESSION_NOT_FOUND: 'Check the session_id; "asyncgate sessions" shows the live sessions.',
  UPSTREAM_NOT_FOUND: 'Check the name; "asyncgate upstreams list" shows the upstreams.',
  UPSTREAM_TOOL_NOT_FOUND:
    'Check the tool; "asyncgate upstreams show NAME" shows its tools, and why one is not offered.',
  UPSTREAM_TOOL_QUARANTINED:
    'Read its definition with "asyncgate upstreams show NAME"; "asyncgate upstreams accept NAME TOOL" accepts it.',
  POLICY_BLOCKED:
    'An admin can see the rules with "asyncgate policies list" and change them with "policies set".',
  POLICY_NOT_FOUND:
    'Check the id; "asyncgate policies list" and "asyncgate policies patterns" show the rules and patterns.',
  KEY_NOT_FOUND: 'Check the key_id and --tenant; "asyncgate keys list" shows the keys.',
  ARCHIVE_UNAVAILABLE:
    'Restore the file that is named here to the archive, or configure the archive; see docs/retention.md.',
  BULK_OPERATION_NOT_FOUND: 'Check the id; "asyncgate bulk list" shows the bulk operations.',
  ERASURE_NOT_FOUND: 'Check the principal; "asyncgate principals erase" starts an erasure.',
  CLIENT_NOT_FOUND: 'Check the client_id; "asyncgate oauth clients" shows the clients.',
  IDENTITY_NOT_FOUND: 'Check the identity_id and --tenant; "asyncgate identities list" shows the identities.',
  KEY_NOT_ACTIVE: 'Create a new key with "asyncgate keys create".',
  LEASE_INVALID_OR_EXPIRED: '"asyncgate tasks show TASK" shows the current status of the task.',
  INVALID_STATE_TRANSITION: '"asyncgate tasks show TASK" shows the status of the task.',
  ALREADY_DECIDED: 'The first decision stands; "asyncgate approvals show TASK" shows it.',
  CONTENT_CHANGED: 'Nothing was decided. Review it again with "asyncgate approvals show TASK", then decide.',
  RESULT_CONFLICT: 'The first result stands; "asyncgate tasks show TASK" shows it.',
  RESULT_NOT_FOUND: '"asyncgate tasks show TASK" shows the result, or where it is stored.',
  CHANNEL_NOT_CONFIGURED: 'Configure the result channel that is named here; see docs/configuration.md.',
  NOT_CONFIGURED: 'Set the settings that are named here and restart the server; see docs/configuration.md.',
  READ_NOT_DONE: '"asyncgate tasks wait TASK" waits for the result of the read.',
  UPSTREAM_OUTCOME_UNKNOWN:
    'Check at the upstream whether the call had an effect. If it had none, repeat it with "asyncgate tasks retry TASK".',
  UPSTREAM_REFUSED: 'Repeating the call will not help. The response of the upstream is shown here.',
  UPSTREAM_UNAVAILABLE: 'Try again later; "asyncgate upstreams show NAME" shows the state of the upstream.',
  QUOTA_EXCEEDED:
    'Wait until open tasks have finished, or cancel some with "asyncgate tasks cancel". The exceeded limit is shown here.',
  SESSION_LIMIT_EXCEEDED:
    'Wait for open calls, or cancel some. "asyncgate sessions set" changes the limit of one session.',
  MEMORY_REFUSED: 'The result is still stored. Send the response shown here to the operator of the memory.',
}

/** The CLI error for an error of the SDK. `withheld` says which key was not sent, and why. */
export function refusal(error: GateError, withheld?: string): CliError {
  const { code, status, message, details, hint, retryable, requestId } = error
  if (code === 'UNREACHABLE') {
    const start = 'Start one with "asyncgate dev", or choose another with --url or ASYNCGATE_URL.'
    return new CliError(EXIT.unreachable, message, retryable ? start : hint)
  }
  if (code === 'STRANGE_ANSWER' || code === `HTTP_${status}`) {
    return new CliError(exitCodeOf(status), message, 'Check --url: this may not be an AsyncGate server.')
  }
  const body = { error: code.toLowerCase(), code, message, retryable, hint, details, request_id: requestId }
  const lines = [
    ...detailLines(code, details),
    ...(status === 401 && withheld !== undefined ? [withheld] : []),
    hintFor(code) ?? hint,
  ]
  return new CliError(exitCodeOf(status), `${message} (${code})`, lines.join('\n'), body)
}

/** The CLI error for an error of an operation that ran in this process. */
export function faultRefusal(fault: Fault): CliError {
  const { code, message, details } = fault
  const hint = hintFor(code) ?? ERRORS[code].hint
  const lines = [...detailLines(code, details), hint]
  return new CliError(exitCodeOf(ERRORS[code].http), `${message} (${code})`, lines.join('\n'), fault.toJSON())
}

/** The error of a worker or scheduler that the server at `url` does not accept. */
export function processRefusal(error: unknown, url: string, process: string): unknown {
  if (!(error instanceof GateError)) return error
  return new CliError(
    error.status === 401 || error.status === 403 ? EXIT.refused : EXIT.failure,
    `${url} does not accept this ${process}: ${error.message} (${error.code})`,
    error.status === 401 ? GIVE_KEY : error.hint,
  )
}

export function hintFor(code: string): string | undefined {
  return Object.entries(HINTS).find(([known]) => known === code)?.[1]
}

/** The details of an error. The message of a validation error contains them already. */
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
