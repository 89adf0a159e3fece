import { serverCommand } from '../client.ts'
import { flag, text } from '../input.ts'

const COLUMNS = [
  ...['SESSION', 'WHO', 'CLIENT', 'STATE', 'RUNNING', 'WAITING'],
  ...['CALLS', 'AT ONCE', 'LAST CALL', 'SERVER'],
]

const list = serverCommand({
  name: 'sessions',
  summary: 'List the clients that call tools of upstreams, and their numbers of calls.',
  async run(client, _, output) {
    const found = await client.call('listSessions', {})
    output.result(found, () =>
      output.table(
        COLUMNS,
        found.sessions.map((session) => [
          session.session_id,
          session.principal,
          [session.client.name, session.client.version].filter((part) => part !== null).join(' '),
          session.state,
          session.running,
          session.waiting,
          session.calls,
          session.workers,
          session.last_call_at,
          session.instance,
        ]),
        'There are no sessions.',
      ),
    )
  },
})

const CONFIGURED = 'default'

const set = serverCommand({
  name: 'sessions set',
  summary: 'Change how many calls of a session run concurrently, or may be open.',
  takes: ['SESSION_ID'],
  options: {
    workers: text('N', `concurrent calls; "${CONFIGURED}" restores the configured limit`),
    queue: text('N', `open calls; "${CONFIGURED}" restores the configured limit`),
  },
  notes: () => 'The limits apply to this client from now on, also when it reconnects.',
  async run(client, input, output) {
    const limit = (name: 'workers' | 'queue') =>
      input.text(name) === CONFIGURED ? null : input.integer(name)
    const limits = { workers: limit('workers'), queue: limit('queue') }
    if (limits.workers === undefined && limits.queue === undefined) {
      throw input.usageError('Give --workers or --queue.')
    }
    const session = await client.call('setSession', { session_id: input.arg(0), ...limits })
    const { session_id, workers, queue } = session
    output.result(session, () =>
      output.print(`${session_id} runs ${workers} calls concurrently, and may have ${queue} open.`),
    )
  },
})

const end = serverCommand({
  name: 'sessions end',
  summary: 'End a session. Its calls are completed, unless --cancel is given.',
  takes: ['SESSION_ID'],
  options: { cancel: flag('cancel its queued and running calls') },
  notes: () => 'Calls that wait for approval stay. A client that calls again gets a new session.',
  async run(client, input, output) {
    const mode = input.flag('cancel') ? 'cancel' : 'run'
    const ended = await client.call('endSession', { session_id: input.arg(0), mode })
    output.result(ended, () => {
      const how = ended.ended ? 'has ended' : 'is on another server, where it ends when it is idle'
      const calls = ended.canceled === 1 ? '1 call was' : `${ended.canceled} calls were`
      output.print(`${ended.session_id} ${how}; ${calls} canceled.`)
    })
  },
})

export const commands = [list, set, end]
