import { hostname } from 'node:os'
import type { LogLevel } from '../../config/kinds.ts'
import {
  type AllowList,
  AllowListError,
  allowedCommand,
  checkPrograms,
} from '../../reference-workers/command/allow-list.ts'
import type { ReferenceTask } from '../../reference-workers/reference.ts'
import { closest } from '../../util/closest.ts'
import { jsonLogger, type Logger, worker as sdkWorker } from '../../worker/index.ts'
import { CLIENT_OPTIONS } from '../client.ts'
import { command } from '../command.ts'
import { usageError } from '../exit.ts'
import { flag, type Input, type Options, text, texts, unlessEmpty } from '../input.ts'
import { processRefusal } from '../refusal.ts'
import { configOf, SETTINGS_OPTIONS } from '../settings-options.ts'
import { findTarget } from '../target.ts'

const OPTIONS = {
  tasks: text('NAMES', 'the task types to run, separated by commas; default all'),
  concurrency: text('N', 'number of concurrent tasks; default 4'),
  'worker-id': text('ID', 'its worker_id; default the host and the process'),
  capabilities: text('NAMES', 'further capabilities, besides the names of its tasks'),
  allow: texts(
    'NAME=PROGRAM',
    'a command for command.execute, as in count=/usr/bin/wc -w (ASYNCGATE_COMMANDS)',
  ),
  folder: text('PATH', 'working folder of commands (ASYNCGATE_COMMAND_FOLDER)'),
  'allow-http': flag('allow http_get to fetch http, not only https (ASYNCGATE_EGRESS_ALLOW_HTTP)'),
  'allow-private': texts(
    'HOST',
    'a private host, address or network that http_get may reach (ASYNCGATE_EGRESS_PRIVATE)',
  ),
  url: CLIENT_OPTIONS.url,
  key: CLIENT_OPTIONS.key,
  config: SETTINGS_OPTIONS.config,
  'log-level': SETTINGS_OPTIONS['log-level'],
} as const satisfies Options

type WorkerInput = Input<keyof typeof OPTIONS>

const worker = command({
  name: 'worker',
  summary:
    'Run a worker for tasks of the types echo, sleep_then_return, http_get and, for allowed commands, command.execute.',
  options: OPTIONS,
  notes: () =>
    [
      'On SIGTERM or SIGINT it claims no more tasks, finishes running ones for up to 20 s, and releases the rest; a',
      'second signal releases them immediately. command.execute is off unless commands are allowed.',
    ].join('\n'),
  async run(input, output) {
    const config = configOf(input, {
      url: input.text('url'),
      api_key: input.text('key'),
      command_folder: input.text('folder'),
      egress_allow_http: input.flag('allow-http') || undefined,
      egress_private: unlessEmpty(input.texts('allow-private')),
    })
    const { server } = config
    const { url, key } = await findTarget({
      url: input.text('url'),
      key: input.text('key'),
      file: input.text('config'),
    })
    const allowed = await allowListOf({ ...server.commands, ...input.pairs('allow') })
    const { REFERENCE_TASKS, referenceTasks } = await import('../../reference-workers/reference.ts')
    const { egressOf } = await import('../../server/egress.ts')
    const names = namesOf(input, allowed, REFERENCE_TASKS)
    const tasks = await referenceTasks(names, {
      egress: { ...egressOf(server), max_bytes: server.egress_max_bytes },
      execute: {
        allowed,
        folder: server.command_folder,
        maxSeconds: server.command_timeout_seconds,
        limits: {
          memoryMib: server.command_max_memory_mib,
          cpuSeconds: server.command_max_cpu_seconds,
          processes: server.command_max_processes,
          fileMib: server.command_max_file_mib,
          openFiles: server.command_max_open_files,
        },
      },
    })
    const running = validated(() =>
      sdkWorker({
        url,
        ...(key !== null && { key }),
        tasks,
        concurrency: input.integer('concurrency') ?? 4,
        workerId: input.text('worker-id') ?? `worker.${hostname()}-${process.pid}`,
        capabilities: [...names, ...listOf(input.text('capabilities'))],
        logger: loggerOf(config.logLevel),
      }),
    )
    output.event({ event: 'working', worker_id: running.id, tasks: names, url })
    output.print(`Worker ${running.id} runs ${names.join(', ')} for ${url}`)
    await running.run().catch((error: unknown) => {
      throw processRefusal(error, url, 'worker')
    })
    output.print('The worker has stopped.')
  },
})

export const commands = [worker]

async function allowListOf(
  commands: Readonly<Record<string, string | readonly string[]>>,
): Promise<AllowList> {
  try {
    const allowed = new Map(
      Object.entries(commands).map(([name, words]) => [name, allowedCommand(name, words)] as const),
    )
    await checkPrograms(allowed)
    return allowed
  } catch (error) {
    if (error instanceof AllowListError)
      throw usageError(error.message, 'Correct --allow or ASYNCGATE_COMMANDS.')
    throw error
  }
}

/** The task types to run. command.execute needs an allowed command. */
function namesOf(
  input: WorkerInput,
  allowed: AllowList,
  known: readonly ReferenceTask[],
): readonly ReferenceTask[] {
  const asked = input.text('tasks')
  const canExecute = allowed.size > 0
  if (asked === undefined) return known.filter((name) => canExecute || name !== 'command.execute')
  const names = listOf(asked).map((name) => {
    const found = known.find((each) => each === name)
    if (found !== undefined) return found
    const meant = closest(name, known)
    throw usageError(
      `This worker has no task type "${name}".`,
      meant === undefined ? `It has ${known.join(', ')}.` : `Did you mean ${meant}?`,
    )
  })
  if (names.length === 0) throw input.usageError('--tasks is empty.')
  if (names.includes('command.execute') && !canExecute) {
    throw usageError(
      'command.execute needs allowed commands.',
      'Add --allow NAME=PROGRAM, or set ASYNCGATE_COMMANDS.',
    )
  }
  return names
}

function listOf(text = ''): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** The worker validates its options. */
function validated<T>(create: () => T): T {
  try {
    return create()
  } catch (error) {
    if (error instanceof TypeError) throw usageError(error.message)
    throw error
  }
}

/** Levels that the logger of the SDK does not have. */
const SDK_LEVELS = { trace: 'debug', fatal: 'error' } as const

function loggerOf(level: LogLevel): Logger | false {
  if (level === 'silent') return false
  return jsonLogger(level === 'trace' || level === 'fatal' ? SDK_LEVELS[level] : level)
}
