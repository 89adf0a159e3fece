import { createLogger } from '../../http/log.ts'
import { openScheduler, type Scheduler, type SchedulerOptions } from '../../scheduler/scheduler.ts'
import { messageOf } from '../../util/error-message.ts'
import { CLIENT_OPTIONS } from '../client.ts'
import { command } from '../command.ts'
import { CliError, EXIT, usageError } from '../exit.ts'
import { text } from '../input.ts'
import { processRefusal } from '../refusal.ts'
import { configOf, SETTINGS_OPTIONS } from '../settings-options.ts'
import { limitStop, stopRequested } from '../signals.ts'
import { findTarget } from '../target.ts'

const scheduler = command({
  name: 'scheduler',
  summary: 'Run a scheduler, which stores schedules and creates their tasks on time.',
  options: {
    db: text('FILE', 'the schedules (ASYNCGATE_SCHEDULER_DB; default .asyncgate/scheduler.db)'),
    'worker-id': text('ID', 'its worker_id, the same for all schedulers; default scheduler'),
    url: CLIENT_OPTIONS.url,
    key: CLIENT_OPTIONS.key,
    config: SETTINGS_OPTIONS.config,
    'log-level': SETTINGS_OPTIONS['log-level'],
  },
  notes: () =>
    [
      'Agents manage schedules with tasks of the types schedule.create, pause, resume, delete, status and list, people with',
      '"asyncgate schedules". A second scheduler on the same file takes over when the first one ends; no run is fired',
      'twice. On SIGTERM or SIGINT it fires no more runs, finishes the current ones, and exits with 0 within 10 s.',
    ].join('\n'),
  async run(input, output) {
    const file = input.text('config')
    const config = configOf(input, { scheduler_db: input.text('db') })
    const { scheduler_db: path } = config.server
    const { url, key } = await findTarget({ url: input.text('url'), key: input.text('key'), file })
    const logger = createLogger(config.logLevel)
    const workerId = input.text('worker-id')
    const opened = await open({ url, ...(key !== null && { key }), path, workerId, logger })
    const stopping = new AbortController()
    let cancelLimit = () => {}
    void stopRequested().then(() => {
      stopping.abort()
      // A run that is aborted is fired after the next start.
      cancelLimit = limitStop()
    })
    output.event({ event: 'scheduling', url, db: path })
    output.print(`Scheduler running for ${url}, schedules in ${path}`)
    try {
      await opened.run({ signal: stopping.signal })
    } catch (error) {
      throw processRefusal(error, url, 'scheduler')
    } finally {
      cancelLimit()
    }
    output.print('The scheduler has stopped.')
    logger.flush()
  },
})

async function open(options: SchedulerOptions): Promise<Scheduler> {
  try {
    return await openScheduler(options)
  } catch (error) {
    if (error instanceof TypeError) throw usageError(error.message)
    const message = `${options.path} cannot be opened: ${messageOf(error)}.`
    throw new CliError(EXIT.failure, message, 'Choose another file with --db.')
  }
}

export const commands = [scheduler]
