import { readFileSync } from 'node:fs'
import { messageOf } from '../../../util/error-message.ts'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { usageError } from '../../exit.ts'
import { createdShape } from './tasks.ts'
import { waitFor } from './wait.ts'

export const tasksCreate = command({
  name: 'tasks create',
  summary: 'Hand over a task of a type that some worker takes.',
  takes: ['TYPE'],
  options: {
    payload: { type: 'string', value: 'JSON', doc: 'what to work on; @FILE reads a file, - standard input' },
    summary: { type: 'string', value: 'TEXT', doc: 'what it is about, for people' },
    priority: { type: 'string', value: 'N', doc: 'from -1000 to 1000, higher first' },
    'idempotency-key': { type: 'string', value: 'KEY', doc: 'makes sending it twice create it once' },
    'max-attempts': { type: 'string', value: 'N', doc: 'how often to try' },
    delay: { type: 'string', value: 'SECONDS', doc: 'not before so long from now' },
    timeout: { type: 'string', value: 'SECONDS', doc: 'how long one attempt may run' },
    deadline: { type: 'string', value: 'TIME', doc: 'when it has to have ended, as 2026-01-31T12:00:00Z' },
    capability: { type: 'string', value: 'NAME', multiple: true, doc: 'what a worker must be able to do' },
    label: { type: 'string', value: 'KEY=VALUE', multiple: true, doc: 'to find it by' },
    session: { type: 'string', value: 'ID', doc: 'the session it belongs to' },
    wait: { type: 'boolean', doc: 'wait for its end, as "tasks wait" does' },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const client = clientOf(input)
    const payload = input.text('payload')
    const capabilities = input.texts('capability')
    const labels = input.pairs('label')
    const created = await client.post(
      '/v1/tasks',
      {
        type: input.word(0),
        payload: payload === undefined ? undefined : readPayload(payload),
        summary: input.text('summary'),
        priority: input.whole('priority'),
        idempotency_key: input.text('idempotency-key'),
        max_attempts: input.whole('max-attempts'),
        delay_seconds: input.whole('delay'),
        timeout_seconds: input.whole('timeout'),
        deadline_at: input.text('deadline'),
        requirements: capabilities.length > 0 ? { capabilities } : undefined,
        labels: Object.keys(labels).length > 0 ? labels : undefined,
        session_id: input.text('session'),
      },
      createdShape,
    )
    if (input.flag('wait')) {
      if (created.hint !== undefined) output.say(created.hint)
      return waitFor(client, created.task_id, undefined, output, created.hint)
    }
    output.answer(created, () => {
      const known = created.is_duplicate ? ' (it was there already)' : ''
      output.say(`${created.task_id} is ${created.status}${known}`)
      if (created.hint !== undefined) output.say(created.hint)
    })
    return undefined
  },
})

/** JSON as an option gives it: the text itself, `@FILE`, or `-` for standard input. */
export function readPayload(given: string): unknown {
  const source =
    given === '-' ? readInput('-', 0) : given.startsWith('@') ? readInput(given, given.slice(1)) : given
  try {
    return JSON.parse(source)
  } catch {
    throw usageError(
      `--payload is not JSON: ${source.slice(0, 60)}`,
      `Quote it for the shell, as in --payload '{"document": "report.pdf"}'.`,
    )
  }
}

function readInput(given: string, file: string | number): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const reason = messageOf(error)
    throw usageError(`--payload ${given} cannot be read: ${reason}`)
  }
}
