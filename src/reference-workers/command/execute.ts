import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { ProcessGroup } from '../../util/process-group.ts'
import { Permanent, RetryableError, type TaskContext, task } from '../../worker/index.ts'
import type { AllowedCommand, AllowList } from './allow-list.ts'
import { Folder, type NewFile, PathRefused } from './folder.ts'
import { DEFAULT_LIMITS, exceeded, type ResourceLimits, underLimits } from './limits.ts'
import { withLines } from './lines.ts'
import { FileTooLarge, firstBytes, writeFile } from './output.ts'

export interface ExecuteOptions {
  readonly allowed: AllowList
  /** The working directory of commands, which also contains their output files. */
  readonly folder: string
  /** The maximum run time of a command. */
  readonly maxSeconds?: number
  /** The maximum of stdout and of stderr in the result; with the default it always fits into a task. */
  readonly maxOutputBytes?: number
  readonly maxFileBytes?: number
  /** The resource limits of a command. */
  readonly limits?: Partial<ResourceLimits>
}

const DEFAULTS = { maxSeconds: 300, maxOutputBytes: 64 * 1024, maxFileBytes: 64 * 1024 * 1024 }

/** Characters of the names of commands in the description of the task. */
const MAX_NAMES = 1500

const path = z.string().min(1).max(1_024)
const input = z.strictObject({
  command: z.string().min(1).max(64).describe('Name of an allowed command'),
  args: z
    .array(z.string().max(8_192))
    .max(100)
    .default([])
    .describe('Further arguments, if the command takes them'),
  stdin: z.string().default('').describe('Standard input'),
  cwd: path.optional().describe('Working directory inside of the folder of the worker'),
  output_path: path.optional().describe('File for standard output, instead of the result'),
  timeout_seconds: z.int().min(1).optional().describe('Maximum run time; the worker may have a lower limit'),
})

type Execute = z.output<typeof input>

/** Runs one of the allowed commands. Any exit code is a result. */
export async function commandExecute(given: ExecuteOptions) {
  const options = { ...DEFAULTS, ...given }
  const limits = { ...DEFAULT_LIMITS, ...given.limits }
  const folder = await Folder.open(options.folder)
  const names = [...options.allowed.keys()].join(', ').slice(0, MAX_NAMES)
  return task('command.execute', {
    description: `Runs one of the allowed commands and returns its exit code and output. Commands: ${names}`,
    input,
    async run(asked, ctx) {
      ctx.signal.throwIfAborted()
      const command = allowed(options.allowed, asked)
      const seconds = Math.min(asked.timeout_seconds ?? options.maxSeconds, options.maxSeconds)
      const cwd = await inFolder('cwd', () => folder.directory(asked.cwd ?? ''))
      const { output_path } = asked
      const file =
        output_path === undefined
          ? undefined
          : await inFolder('output_path', () => folder.create(output_path))
      try {
        const run = await start(command, asked, limits, cwd, folder.path, ctx)
        return await follow(run, { ...options, limits, seconds }, asked, file, ctx)
      } catch (error) {
        await file?.drop()
        throw error
      }
    },
  })
}

function allowed(list: AllowList, { command, args }: Execute): AllowedCommand {
  const found = list.get(command)
  if (found === undefined) {
    throw new Permanent(`This worker does not run "${command}".`, {
      code: 'COMMAND_NOT_ALLOWED',
      details: { allowed: [...list.keys()] },
    })
  }
  if (args.length > 0 && !found.takesMore) {
    throw new Permanent(`"${command}" takes no arguments here.`, { code: 'ARGUMENTS_NOT_ALLOWED' })
  }
  if (args.some((arg) => arg.includes('\0'))) {
    throw new Permanent('An argument cannot have NUL in it.', { code: 'ARGUMENTS_NOT_ALLOWED' })
  }
  return found
}

async function inFolder<T>(field: string, find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    if (!(error instanceof PathRefused)) throw error
    throw new Permanent(`${field}: ${error.message}.`, { code: 'PATH_NOT_ALLOWED', details: { path: field } })
  }
}

async function start(
  command: AllowedCommand,
  { args, stdin }: Execute,
  limits: ResourceLimits,
  cwd: string,
  home: string,
  { task: { task_id }, fence, idempotencyKey }: TaskContext,
): Promise<ProcessGroup> {
  // Not the environment of the worker, which contains its key.
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LANG: 'C.UTF-8',
    HOME: home,
    ASYNCGATE_TASK_ID: task_id,
    ASYNCGATE_FENCE: String(fence),
    ASYNCGATE_IDEMPOTENCY_KEY: idempotencyKey,
  }
  try {
    // The shell that sets the limits would report a missing program only in its output.
    await access(command.path, constants.X_OK)
    const program = underLimits(command.path, [...command.args, ...args], limits)
    const run = await ProcessGroup.start({ ...program, cwd, env })
    // A program may exit without reading its input.
    run.stdin.on('error', () => {}).end(stdin)
    return run
  } catch (error) {
    const message = 'The command could not be started.'
    throw new RetryableError(message, { code: 'COMMAND_NOT_STARTED', cause: error })
  }
}

interface Limits {
  readonly limits: ResourceLimits
  readonly seconds: number
  readonly maxOutputBytes: number
  readonly maxFileBytes: number
}

/** Waits for a command, and stops it when it runs too long, writes too much or the task is aborted. */
async function follow(
  run: ProcessGroup,
  { seconds, maxOutputBytes, maxFileBytes, limits }: Limits,
  { command, output_path }: Execute,
  file: NewFile | undefined,
  { signal, log }: Pick<TaskContext, 'signal' | 'log'>,
) {
  const began = performance.now()
  const stop = () => void run.stop()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    stop()
  }, seconds * 1000)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const exited = exitOf(run)
  const stdoutBytes = untilClosed(run.stdout)
  try {
    const toFile = file && writeFile(stdoutBytes, file.handle, maxFileBytes)
    // A command whose output cannot be written is stopped; its exit is awaited in any case.
    toFile?.catch(stop)
    const [exit, stdout, stderr, written] = await Promise.all([
      exited,
      toFile === undefined
        ? firstBytes(
            withLines(stdoutBytes, (line) => log.info(line, { stream: 'stdout' })),
            maxOutputBytes,
          )
        : { text: '', truncated: false },
      firstBytes(
        withLines(untilClosed(run.stderr), (line) => log.warn(line, { stream: 'stderr' })),
        maxOutputBytes,
      ),
      toFile?.catch((error: unknown) => exited.then(() => Promise.reject(error))),
    ])
    signal.throwIfAborted()
    const shown = { stdout: stdout.text, stderr: stderr.text }
    if (isLate) {
      throw new Permanent(`The command ran for more than ${seconds} s and was stopped.`, {
        code: 'COMMAND_TIMED_OUT',
        details: tailOf(stdout.text, stderr.text),
      })
    }
    const limit = exceeded({ ...exit, ...shown }, limits)
    if (limit !== undefined) {
      throw new Permanent(`The command exceeded its limit: ${limit}.`, {
        code: 'COMMAND_LIMIT_EXCEEDED',
        details: { limit, ...exit, ...tailOf(stdout.text, stderr.text) },
      })
    }
    if (file !== undefined) await inFolder('output_path', () => file.keep())
    return {
      command,
      ...exit,
      ...shown,
      truncated: stdout.truncated || stderr.truncated,
      duration_ms: Math.round(performance.now() - began),
      ...(written !== undefined && { output: { path: output_path, ...written } }),
    }
  } catch (error) {
    if (!(error instanceof FileTooLarge)) throw error
    throw new Permanent(`The command wrote more than ${maxFileBytes} bytes and was stopped.`, {
      code: 'OUTPUT_TOO_LARGE',
    })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

interface Exit {
  readonly exit_code: number | null
  readonly signal: NodeJS.Signals | null
}

/** How long to read the pipes after the process has exited; another process may hold them open. */
const REST_MS = 1_000

async function exitOf({ exited, stdout, stderr }: ProcessGroup): Promise<Exit> {
  const { code, signal } = await exited
  for (const stream of [stdout, stderr]) {
    const rest = setTimeout(() => stream.destroy(), REST_MS)
    stream.once('close', () => clearTimeout(rest))
    if (stream.closed) clearTimeout(rest)
  }
  return { exit_code: code, signal }
}

/** Reads the stream until it ends or is closed. */
async function* untilClosed(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream) yield chunk
  } catch (error) {
    const isClosed = error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
    if (!isClosed) throw error
  }
}

/** An error is limited to 16 KiB. */
const SHOWN = 1_000

/** The end of the output of a failed command. */
function tailOf(stdout: string, stderr: string) {
  return { stdout: stdout.slice(-SHOWN), stderr: stderr.slice(-SHOWN) }
}
