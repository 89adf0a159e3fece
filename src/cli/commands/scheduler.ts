import { GateError } from '../../client/gate-error.ts'
import { loadConfig } from '../../config/index.ts'
import { createLogger } from '../../http/log.ts'
import { openScheduler, type Scheduler } from '../../scheduler/scheduler.ts'
import { messageOf } from '../../util/error-message.ts'
import { CLIENT_OPTIONS } from '../client.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { warn } from '../output.ts'
import { SETTINGS_OPTIONS } from '../settings-options.ts'
import { stopRequested } from '../signals.ts'
import { findTarget } from '../target.ts'

/** Whoever stops us waits ten seconds. A run that is cut off is fired again by the next start. */
const STOP_WITHIN_MS = 9_500

export const scheduler = command({
  name: 'scheduler',
  summary: 'Keep schedules that agents ask for, and create their tasks on time.',
  options: {
    db: {
      type: 'string',
      value: 'FILE',
      doc: 'the schedules (ASYNCGATE_SCHEDULER_DB; default .asyncgate/scheduler.db)',
    },
    'worker-id': {
      type: 'string',
      value: 'ID',
      doc: 'its name at the server; the same for all schedulers; default scheduler',
    },
    url: CLIENT_OPTIONS.url,
    key: CLIENT_OPTIONS.key,
    config: SETTINGS_OPTIONS.config,
    'log-level': SETTINGS_OPTIONS['log-level'],
  },
  notes: () =>
    [
      'Agents ask with tasks of the types schedule.create, pause, resume, delete, status and list, or you with',
      '"asyncgate schedules". A second scheduler on the same file stands in when the first one ends; none of them fires',
      'a run twice. SIGTERM or SIGINT: it fires nothing more, finishes what it has begun, and exits with 0 within 10 s.',
    ].join('\n'),
  async run(input, output) {
    const config = loadConfig({
      env: process.env,
      file: input.text('config'),
      flags: {
        scheduler_db: input.text('db'),
        log_level: input.text('log-level'),
      },
    })
    for (const notice of config.notices) warn(notice)
    const { scheduler_db } = config.server
    const { url, key } = await findTarget({
      url: input.text('url'),
      key: input.text('key'),
      file: input.text('config'),
    })
    const logger = createLogger(config.logLevel)
    const opened = await open(scheduler_db, () =>
      openScheduler({
        url,
        ...(key !== null && { key }),
        path: scheduler_db,
        workerId: input.text('worker-id'),
        logger,
      }),
    )
    const stopping = new AbortController()
    void stopRequested().then(() => {
      stopping.abort()
      setTimeout(() => {
        warn(`Not everything has ended within ${STOP_WITHIN_MS / 1000} s; it is cut off.`)
        process.exit(EXIT.failure)
      }, STOP_WITHIN_MS).unref()
    })
    output.event({ event: 'scheduling', url, db: scheduler_db })
    output.say(`Scheduler at work for ${url}, schedules in ${scheduler_db}`)
    await opened.run({ signal: stopping.signal }).catch((error: unknown) => {
      throw refusal(error, url)
    })
    output.say('The scheduler has stopped.')
    logger.flush()
    return undefined
  },
})

async function open(file: string, make: () => Promise<Scheduler>): Promise<Scheduler> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof TypeError) throw new CliError(EXIT.usage, error.message)
    const reason = messageOf(error)
    throw new CliError(EXIT.failure, `${file} cannot be opened: ${reason}.`, 'Name another file with --db.')
  }
}

function refusal(error: unknown, url: string): unknown {
  if (!(error instanceof GateError)) return error
  const isKey = error.status === 401 || error.status === 403
  const hint = isKey ? 'Give the key with --key, or set ASYNCGATE_API_KEY.' : error.hint
  return new CliError(
    isKey ? EXIT.refused : EXIT.failure,
    `${url} does not take this scheduler: ${error.message} (${error.code})`,
    hint,
  )
}
