import { hostname } from 'node:os'
import { type Config, loadConfig } from '../../config/index.ts'
import type { LogLevel } from '../../config/kinds.ts'
import {
  type AllowList,
  AllowListError,
  allowedCommand,
  checkPrograms,
} from '../../reference-workers/command/allow-list.ts'
import {
  isReferenceTask,
  REFERENCE_TASKS,
  type ReferenceTask,
  referenceTasks,
} from '../../reference-workers/reference.ts'
import { egressOf } from '../../server/egress.ts'
import { closest } from '../../util/closest.ts'
import { GateError, jsonLogger, type Logger, worker as sdkWorker } from '../../worker/index.ts'
import { CLIENT_OPTIONS } from '../client.ts'
import { command } from '../command.ts'
import { CliError, EXIT, usageError } from '../exit.ts'
import type { Input, Options } from '../input.ts'
import { warn } from '../output.ts'
import { SETTINGS_OPTIONS } from '../settings-options.ts'
import { findTarget } from '../target.ts'

const OPTIONS = {
  tasks: { type: 'string', value: 'NAMES', doc: 'which of them to do, separated by commas; default all' },
  concurrency: { type: 'string', value: 'N', doc: 'how many at once; default 4' },
  'worker-id': {
    type: 'string',
    value: 'ID',
    doc: 'the name of the worker; default the host and the process',
  },
  capabilities: { type: 'string', value: 'NAMES', doc: 'what it offers besides the names of its tasks' },
  allow: {
    type: 'string',
    multiple: true,
    value: 'NAME=PROGRAM',
    doc: 'a command for command.execute, as in count=/usr/bin/wc -w (ASYNCGATE_COMMANDS)',
  },
  folder: {
    type: 'string',
    value: 'PATH',
    doc: 'where commands run and put their files (ASYNCGATE_COMMAND_FOLDER)',
  },
  'allow-http': {
    type: 'boolean',
    doc: 'let http_get fetch http, not only https (ASYNCGATE_EGRESS_ALLOW_HTTP)',
  },
  'allow-private': {
    type: 'string',
    multiple: true,
    value: 'PLACE',
    doc: 'a host, address or network that http_get may reach though it is not public (ASYNCGATE_EGRESS_PRIVATE)',
  },
  url: CLIENT_OPTIONS.url,
  key: CLIENT_OPTIONS.key,
  config: SETTINGS_OPTIONS.config,
  'log-level': SETTINGS_OPTIONS['log-level'],
} as const satisfies Options

type Asked = Input<keyof typeof OPTIONS>

export const worker = command({
  name: 'worker',
  summary:
    'Do tasks of the types echo, sleep_then_return, http_get and, for what is allowed, command.execute.',
  options: OPTIONS,
  notes: () =>
    [
      'SIGTERM or SIGINT: it takes no more, lets what it has begun finish for 20 s, and gives the rest back; a',
      'second signal gives it back at once. command.execute is off unless commands are allowed.',
    ].join('\n'),
  async run(input, output) {
    const config = settingsOf(input)
    const { server } = config
    const { url, key } = await findTarget({
      url: input.text('url'),
      key: input.text('key'),
      file: input.text('config'),
    })
    const allowed = await allowListOf({ ...server.commands, ...input.pairs('allow') })
    const names = namesOf(input, allowed)
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
    const made = make(() =>
      sdkWorker({
        url,
        ...(key !== null && { key }),
        tasks,
        concurrency: input.whole('concurrency') ?? 4,
        workerId: input.text('worker-id') ?? `worker.${hostname()}-${process.pid}`,
        capabilities: [...names, ...listOf(input.text('capabilities'))],
        logger: loggerOf(config.logLevel),
      }),
    )
    output.event({ event: 'working', worker_id: made.id, tasks: names, url })
    output.say(`Worker ${made.id} does ${names.join(', ')} for ${url}`)
    await made.run().catch((error: unknown) => {
      throw refusal(error, url)
    })
    output.say('The worker has stopped.')
    return undefined
  },
})

function settingsOf(input: Asked): Config {
  const places = input.texts('allow-private')
  const config = loadConfig({
    env: process.env,
    file: input.text('config'),
    flags: {
      url: input.text('url'),
      api_key: input.text('key'),
      log_level: input.text('log-level'),
      command_folder: input.text('folder'),
      egress_allow_http: input.flag('allow-http') ? true : undefined,
      egress_private: places.length > 0 ? places : undefined,
    },
  })
  for (const notice of config.notices) warn(notice)
  return config
}

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

/** The tasks that are asked for; command.execute only where a command is allowed. */
function namesOf(input: Asked, allowed: AllowList): readonly ReferenceTask[] {
  const asked = input.text('tasks')
  const canExecute = allowed.size > 0
  if (asked === undefined) return REFERENCE_TASKS.filter((name) => canExecute || name !== 'command.execute')
  const names = listOf(asked).map((name) => {
    if (isReferenceTask(name)) return name
    const meant = closest(name, REFERENCE_TASKS)
    throw usageError(
      `This worker has no task "${name}".`,
      meant === undefined ? `It has ${REFERENCE_TASKS.join(', ')}.` : `Did you mean ${meant}?`,
    )
  })
  if (names.length === 0) throw input.wrong('--tasks is empty.')
  if (names.includes('command.execute') && !canExecute) {
    throw usageError(
      'command.execute needs commands that are allowed.',
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

/** The worker says itself what is wrong with its options. */
function make<T>(create: () => T): T {
  try {
    return create()
  } catch (error) {
    if (error instanceof TypeError) throw usageError(error.message)
    throw error
  }
}

function loggerOf(level: LogLevel): Logger | false {
  switch (level) {
    case 'silent':
      return false
    case 'trace':
      return jsonLogger('debug')
    case 'fatal':
      return jsonLogger('error')
    default:
      return jsonLogger(level)
  }
}

function refusal(error: unknown, url: string): unknown {
  if (!(error instanceof GateError)) return error
  const isKey = error.status === 401 || error.status === 403
  return new CliError(
    isKey ? EXIT.refused : EXIT.failure,
    `${url} does not take this worker: ${error.message} (${error.code})`,
    error.status === 401 ? 'Give the key with --key, or set ASYNCGATE_API_KEY.' : error.hint,
  )
}
