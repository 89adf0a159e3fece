import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { SubmitOptions } from '../../src/client/index.ts'
import {
  type AllowedCommand,
  allowedCommand,
  checkPrograms,
} from '../../src/reference-workers/command/allow-list.ts'
import { commandExecute, type ExecuteOptions } from '../../src/reference-workers/command/execute.ts'
import { withLines } from '../../src/reference-workers/command/lines.ts'
import { openTestGate, outcomeOf, reaches, type TestGate, work } from './support.ts'

const node = process.execPath

let gate: TestGate
let root: string
let folder: string
beforeAll(async () => {
  gate = await openTestGate()
})
afterAll(() => gate.close())
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'asyncgate-command-'))
  folder = join(root, 'inside')
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
})

/** Programs in JavaScript, which behave the same everywhere. */
function program(code: string, takesMore = false): AllowedCommand {
  return { path: node, args: ['-e', code, '--'], takesMore }
}

/** Writes three blocks, each of which is buffered in memory. */
function dd(name: string, block = '1M'): AllowedCommand {
  const args = ['if=/dev/zero', `of=${name}`, `bs=${block}`, 'count=3', 'status=none']
  return { path: '/bin/dd', args, takesMore: false }
}

async function start(
  commands: Readonly<Record<string, AllowedCommand>>,
  options: Partial<ExecuteOptions> = {},
) {
  const task = await commandExecute({ allowed: new Map(Object.entries(commands)), folder, ...options })
  return work(gate, [task])
}

async function execute(
  command: AllowedCommand,
  payload: object = {},
  options: Partial<ExecuteOptions> = {},
  submit: SubmitOptions = {},
) {
  const working = await start({ it: command }, options)
  const asked = { command: 'it', ...payload }
  const outcome = await outcomeOf(gate, 'command.execute', asked, { max_attempts: 5, ...submit })
  await working.stop()
  return outcome
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    // A zombie process has ended, although it was not reaped.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe('command.execute', () => {
  it('the result has the exit code and the output, whatever the code is', async () => {
    const code = `console.log('out'); console.error('err'); process.exitCode = 3`
    expect(await execute(program(code))).toMatchObject({
      status: 'succeeded',
      result: {
        command: 'it',
        exit_code: 3,
        signal: null,
        stdout: 'out\n',
        stderr: 'err\n',
        truncated: false,
        duration_ms: expect.any(Number),
      },
    })
    expect(await execute(program(`process.kill(process.pid, 'SIGKILL')`))).toMatchObject({
      result: { exit_code: null, signal: 'SIGKILL' },
    })
  })

  it('each line of the output is in the log of the task', async () => {
    const code = `console.log('first\\r\\n\\nsecond'); process.stdout.write('no line break'); console.error('problem')`
    await start({ it: program(code) })
    const { id } = await gate.agent.submit('command.execute', { command: 'it' })
    await gate.agent.wait(id)
    const { lines } = await gate.agent.listLogs({ task_id: id })
    const of = (stream: string) =>
      lines.filter(({ context }) => context?.stream === stream).map(({ level, text }) => `${level} ${text}`)
    expect(of('stdout')).toEqual(['info first', 'info second', 'info no line break'])
    expect(of('stderr')).toEqual(['warn problem'])
  })

  it('output that goes to a file is not in the log of the task', async () => {
    await start({ it: program(`console.log('data'); console.error('problem')`) })
    const { id } = await gate.agent.submit('command.execute', { command: 'it', output_path: 'out' })
    await gate.agent.wait(id)
    const { lines } = await gate.agent.listLogs({ task_id: id })
    expect(lines.map(({ text }) => text)).toEqual(['problem'])
  })

  it('a line without a break is split, and the log ends at its size limit', async () => {
    const lines: string[] = []
    const chunks = Array.from({ length: 12 }, () => Buffer.alloc(100_000, 'x'))
    const stream = (async function* () {
      yield* chunks
    })()
    let bytes = 0
    for await (const chunk of withLines(stream, (line) => lines.push(line))) bytes += chunk.length
    expect(bytes).toBe(1_200_000)
    expect(Math.max(...lines.map((line) => line.length))).toBe(8_000)
    expect(lines.length).toBe(Math.ceil((1024 * 1024) / 8_000))
  })

  describe.runIf(process.platform === 'linux')('resource limits of commands', () => {
    it.each([
      ['memory', dd('/dev/null', '2G'), { memoryMib: 512 }],
      ['cpu', program('for (;;);'), { cpuSeconds: 1 }],
      ['file_size', dd('file'), { fileMib: 1 }],
    ])('the limit %s is enforced and reported', async (limit, command, limits) => {
      const { status, error } = await execute(command, {}, { limits })
      expect({ status, error }).toMatchObject({
        status: 'failed',
        error: { code: 'COMMAND_LIMIT_EXCEEDED', details: { limit } },
      })
    })

    it('the limits of processes and open files are set', async () => {
      const show = { path: '/bin/cat', args: ['/proc/self/limits'], takesMore: false }
      const limits = { memoryMib: 100, cpuSeconds: 7, processes: 333, fileMib: 3, openFiles: 44 }
      const { result } = await execute(show, {}, { limits })
      const { stdout } = result as { stdout: string }
      const soft = (name: string) => new RegExp(`^Max ${name} +(\\S+)`, 'm').exec(stdout)?.[1]
      expect({
        memory: soft('address space'),
        cpu: soft('cpu time'),
        processes: soft('processes'),
        file: soft('file size'),
        files: soft('open files'),
        core: soft('core file size'),
      }).toEqual({
        memory: String(100 * 1024 * 1024),
        cpu: '7',
        processes: '333',
        file: String(3 * 1024 * 1024),
        files: '44',
        core: '0',
      })
    })

    it('a limit of 0 is no limit', async () => {
      const limits = { memoryMib: 0, cpuSeconds: 0, processes: 0, fileMib: 0, openFiles: 0 }
      const { result } = await execute(dd('file'), {}, { limits })
      expect(result).toMatchObject({ exit_code: 0 })
    })
  })

  it('only commands on the list are run', async () => {
    await start({ it: program('') })
    for (const command of ['other', '/bin/sh', node, 'it ', '__proto__', 'constructor']) {
      expect(await outcomeOf(gate, 'command.execute', { command }, { max_attempts: 5 })).toMatchObject({
        status: 'failed',
        error: { code: 'COMMAND_NOT_ALLOWED' },
      })
    }
  })

  it('arguments are passed unchanged after those of the operator, if the operator permits them', async () => {
    const show = `console.log(JSON.stringify(process.argv.slice(1)))`
    const command = { path: node, args: ['-e', show, '--', 'fixed'], takesMore: true }
    const args = ['$HOME', '; rm -rf /', '`id`', '--flag', '*', '', "it's"]
    const { result } = await execute(command, { args })
    expect(result).toMatchObject({ stdout: `${JSON.stringify(['fixed', ...args])}\n` })
    expect(await execute(program(show), { args: ['more'] })).toMatchObject({
      status: 'failed',
      error: { code: 'ARGUMENTS_NOT_ALLOWED' },
    })
  })

  it('stdin is passed to the command', async () => {
    const code = `process.stdin.pipe(process.stdout)`
    expect(await execute(program(code), { stdin: 'gr\u00fc\u00dfe' })).toMatchObject({
      result: { stdout: 'gr\u00fc\u00dfe' },
    })
    // A command that does not read stdin succeeds too.
    const much = 'x'.repeat(500_000)
    expect(await execute(program(''), { stdin: much })).toMatchObject({ result: { exit_code: 0 } })
  })

  it('the environment of the worker is not passed to the command', async () => {
    vi.stubEnv('ASYNCGATE_API_KEY', 'secret')
    vi.stubEnv('NODE_OPTIONS', '--no-warnings')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { result } = await execute(program('console.log(JSON.stringify(process.env))'))
    const { stdout } = result as { stdout: string }
    expect(JSON.parse(stdout)).toEqual({
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LANG: 'C.UTF-8',
      HOME: folder,
      ASYNCGATE_TASK_ID: expect.any(String),
      ASYNCGATE_FENCE: '1',
      ASYNCGATE_IDEMPOTENCY_KEY: expect.any(String),
    })
  })

  it('long output is truncated, and the command continues', async () => {
    const code = `process.stdout.write('x'.repeat(1e6) + '\\0', () => require('fs').writeFileSync('done', ''))`
    expect(await execute(program(code), {}, { maxOutputBytes: 1000 })).toMatchObject({
      result: { stdout: 'x'.repeat(1000), truncated: true, exit_code: 0 },
    })
    expect(existsSync(join(folder, 'done'))).toBe(true)
  })

  it('bytes that are not valid text are replaced', async () => {
    const code = `process.stdout.write(Buffer.from([97, 0, 255, 98]))`
    expect(await execute(program(code))).toMatchObject({ result: { stdout: 'a\ufffd\ufffdb' } })
  })

  it('a command that takes too long is stopped with its children', async () => {
    const child = `setInterval(() => {}, 1000)`
    const code = `
      process.on('SIGTERM', () => {})
      const { spawn } = require('child_process')
      const child = spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'ignore' })
      console.log(child.pid)
      setInterval(() => {}, 1000)`
    const { status, error } = await execute(program(code), { timeout_seconds: 1 })
    expect(status).toBe('failed')
    expect(error).toMatchObject({
      code: 'COMMAND_TIMED_OUT',
      message: 'The command ran for more than 1 s and was stopped.',
      details: { stdout: expect.stringMatching(/^\d+\n$/) },
    })
    const { details } = error as { details: { stdout: string } }
    await vi.waitFor(() => expect(isAlive(Number(details.stdout))).toBe(false), 5_000)
  })

  it('the timeout is limited by the setting of the operator', async () => {
    const { error } = await execute(
      program('setInterval(() => {}, 1000)'),
      { timeout_seconds: 999 },
      { maxSeconds: 1 },
    )
    expect(error).toMatchObject({ message: 'The command ran for more than 1 s and was stopped.' })
  })

  it('remaining child processes are ended without waiting for them', async () => {
    const code = `
      const { spawn } = require('child_process')
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
      console.log(child.pid)
      process.exit(0)`
    const { result } = await execute(program(code))
    const { stdout } = result as { stdout: string }
    await vi.waitFor(() => expect(isAlive(Number(stdout))).toBe(false), 5_000)
  })

  it('a detached child that keeps the pipe open does not delay the result', async () => {
    const code = `
      const { spawn } = require('child_process')
      const child = spawn('sleep', ['600'], { stdio: 'inherit', detached: true })
      console.log(child.pid)
      process.exit(0)`
    const { status, result } = await execute(program(code))
    expect(status).toBe('succeeded')
    const { stdout } = result as { stdout: string }
    process.kill(Number(stdout), 'SIGKILL')
  })

  it('a canceled task ends the command', async () => {
    const code = `require('fs').writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000)`
    await start({ it: program(code) })
    const { id } = await gate.agent.submit('command.execute', { command: 'it' })
    const pid = await vi.waitFor(() => {
      const text = readFileSync(join(folder, 'pid'), 'utf8')
      expect(text).not.toBe('')
      return Number(text)
    }, 10_000)
    expect(isAlive(pid)).toBe(true)
    await gate.agent.cancelTask({ task_id: id })
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 10_000)
  })

  it('a stopping worker stops the command and releases the task', async () => {
    const code = `require('fs').writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000)`
    const task = await commandExecute({ allowed: new Map([['it', program(code)]]), folder })
    const working = work(gate, [task], { stopSeconds: 0 })
    const { id } = await gate.agent.submit('command.execute', { command: 'it' })
    const pid = await vi.waitFor(() => {
      const text = readFileSync(join(folder, 'pid'), 'utf8')
      expect(text).not.toBe('')
      return Number(text)
    }, 10_000)
    await working.stop()
    expect(isAlive(pid)).toBe(false)
    await reaches(gate, id, 'queued')
    await gate.agent.cancelTask({ task_id: id })
  })

  it('a program that cannot be started is retried', async () => {
    const { status, error } = await execute(
      { path: join(root, 'gone'), args: [], takesMore: false },
      {},
      {},
      { max_attempts: 2, retry_backoff_seconds: 0 },
    )
    expect(status).toBe('failed')
    expect(error).toMatchObject({ code: 'COMMAND_NOT_STARTED' })
  })

  it.each([
    [{}, 'command'],
    [{ command: 7 }, 'command'],
    [{ command: 'it', args: 'x' }, 'args'],
    [{ command: 'it', args: ['a', 1] }, 'args.1'],
    [{ command: 'it', env: {} }, 'env'],
    [{ command: 'it', shell: true }, 'shell'],
    [{ command: 'it', timeout_seconds: 0 }, 'timeout_seconds'],
  ])('the payload %j is refused permanently', async (payload, field) => {
    await start({ it: program('', true) })
    const { status, error } = await outcomeOf(gate, 'command.execute', payload, { max_attempts: 5 })
    expect(status).toBe('failed')
    expect(JSON.stringify(error)).toContain(field)
  })
})

describe('command folder', () => {
  const pwd = program(`process.stdout.write(process.cwd())`)

  it('commands run in the folder or in a subfolder, which is created', async () => {
    expect(await execute(pwd)).toMatchObject({ result: { stdout: folder } })
    expect(await execute(pwd, { cwd: 'a/b' })).toMatchObject({ result: { stdout: join(folder, 'a/b') } })
  })

  it('output_path writes the output to a file in the folder', async () => {
    const code = `process.stdout.write('x'.repeat(300_000)); process.stderr.write('note')`
    const outcome = await execute(program(code), { output_path: 'out/list.txt' })
    const text = 'x'.repeat(300_000)
    expect(outcome).toMatchObject({
      status: 'succeeded',
      result: {
        stdout: '',
        stderr: 'note',
        output: {
          path: 'out/list.txt',
          bytes: 300_000,
          sha256: createHash('sha256').update(text).digest('hex'),
        },
      },
    })
    expect(readFileSync(join(folder, 'out/list.txt'), 'utf8')).toBe(text)
    expect(readdirSync(join(folder, 'out'))).toEqual(['list.txt'])
  })

  it('output_path replaces the file only if the command was not stopped', async () => {
    await execute(program(`console.log('first')`), { output_path: 'file' })
    await execute(program(`console.log('second')`), { output_path: 'file' })
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('second\n')
    const endless = `console.log('third'); setInterval(() => {}, 1000)`
    const late = await execute(program(endless), { output_path: 'file', timeout_seconds: 1 })
    expect(late).toMatchObject({ status: 'failed', error: { code: 'COMMAND_TIMED_OUT' } })
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('second\n')
    expect(readdirSync(folder)).toEqual(['file'])
  })

  it('output over maxFileBytes stops the command', async () => {
    const code = `for (;;) require('fs').writeSync(1, Buffer.alloc(65536))`
    const outcome = await execute(program(code), { output_path: 'file' }, { maxFileBytes: 1_000_000 })
    expect(outcome).toMatchObject({
      status: 'failed',
      error: {
        code: 'OUTPUT_TOO_LARGE',
        message: 'The command wrote more than 1000000 bytes and was stopped.',
      },
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([
    '..',
    '../outside',
    'a/../../outside',
    '/etc',
    '/',
    './a',
    'a//b',
    'a/',
    'a\\..\\b',
    '\\\\server\\share',
  ])('the path %j is refused', async (path) => {
    for (const field of ['cwd', 'output_path']) {
      expect(await execute(pwd, { [field]: path })).toMatchObject({
        status: 'failed',
        error: { code: 'PATH_NOT_ALLOWED', details: { path: field } },
      })
    }
    expect(readdirSync(root)).toEqual(['inside'])
  })

  it('a symlink is refused, even one that stays inside of the folder', async () => {
    mkdirSync(join(root, 'outside'))
    mkdirSync(join(folder, 'real'), { recursive: true })
    writeFileSync(join(root, 'outside/file'), 'untouched')
    symlinkSync(join(root, 'outside'), join(folder, 'link'))
    symlinkSync(join(folder, 'real'), join(folder, 'back'))
    symlinkSync(join(root, 'outside/file'), join(folder, 'file'))
    symlinkSync(join(root, 'nowhere'), join(folder, 'dangling'))
    const paths = [
      { cwd: 'link' },
      { cwd: 'back' },
      { cwd: 'link/deeper' },
      { output_path: 'link/file' },
      { output_path: 'back/file' },
      { output_path: 'file' },
      { output_path: 'dangling' },
      { output_path: 'real' },
    ]
    for (const path of paths) {
      expect(await execute(pwd, path), JSON.stringify(path)).toMatchObject({
        status: 'failed',
        error: { code: 'PATH_NOT_ALLOWED' },
      })
    }
    expect(readFileSync(join(root, 'outside/file'), 'utf8')).toBe('untouched')
    expect(readdirSync(join(root, 'outside'))).toEqual(['file'])
    expect(existsSync(join(root, 'nowhere'))).toBe(false)
  })

  it('a command cannot redirect its output with a symlink', async () => {
    mkdirSync(join(root, 'outside'))
    const swap = `
      const fs = require('fs')
      fs.renameSync('out', 'moved')
      fs.symlinkSync(${JSON.stringify(join(root, 'outside'))}, 'out')
      console.log('escaped')`
    // A single attempt, because the next one would find the symlink.
    const outcome = await execute(program(swap), { output_path: 'out/file' }, {}, { max_attempts: 1 })
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'PATH_NOT_ALLOWED' } })
    expect(readdirSync(join(root, 'outside'))).toEqual([])
  })
})

describe('allowed commands', () => {
  it('an allowed command has an absolute path and leading arguments', () => {
    expect(allowedCommand('count', '/usr/bin/wc  -w ')).toEqual({
      path: '/usr/bin/wc',
      args: ['-w'],
      takesMore: false,
    })
    expect(allowedCommand('find', '/bin/grep -F -- ...')).toEqual({
      path: '/bin/grep',
      args: ['-F', '--'],
      takesMore: true,
    })
    expect(allowedCommand('say', ['/bin/echo', 'two words', '...'])).toMatchObject({
      args: ['two words'],
      takesMore: true,
    })
  })

  it.each([
    ['count', 'wc -w', 'needs the absolute path'],
    ['count', './wc', 'needs the absolute path'],
    ['count', '', 'needs the absolute path'],
    ['two words', '/bin/echo', 'cannot be the name'],
    ['', '/bin/echo', 'cannot be the name'],
    ['a', '/bin/echo \0', 'has NUL in it'],
  ])('the command %j with %j is refused', (name, command, said) => {
    expect(() => allowedCommand(name, command)).toThrow(said)
  })

  it('allowed programs must exist and be executable', async () => {
    const file = join(root, 'file')
    writeFileSync(file, '', { mode: 0o644 })
    await checkPrograms(new Map([['node', allowedCommand('node', node)]]))
    for (const path of [file, root, join(root, 'gone')]) {
      const list = new Map([['it', allowedCommand('it', path)]])
      await expect(checkPrograms(list)).rejects.toThrow('The command it cannot be run')
    }
  })
})
