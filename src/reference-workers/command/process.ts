import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

export interface Program {
  readonly path: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string
}

export interface Exit {
  readonly exit_code: number | null
  readonly signal: NodeJS.Signals | null
}

/** How long a process has between being asked to end and being made to. */
const GRACE_MS = 2_000

/** How long the output of a process that has ended may still come in, through a pipe that somebody else holds open. */
const REST_MS = 1_000

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** A running program. It leads a process group of its own, so that its children end with it. */
export class RunningProcess {
  readonly #child: Child
  readonly stdout: AsyncIterable<Buffer>
  readonly stderr: AsyncIterable<Buffer>
  readonly exited: Promise<Exit>

  private constructor(child: Child) {
    this.#child = child
    this.stdout = untilClosed(child.stdout)
    this.stderr = untilClosed(child.stderr)
    running.add(this)
    this.exited = once(child, 'exit').then(([exit_code, signal]): Exit => {
      // Whatever it has left behind.
      this.#signal('SIGKILL')
      running.delete(this)
      const rest = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, REST_MS)
      child.once('close', () => clearTimeout(rest))
      return { exit_code, signal }
    })
  }

  /** Rejects if the program cannot be started. No shell reads the arguments: they reach it as they are. */
  static async start({ path, args, cwd, env, stdin }: Program): Promise<RunningProcess> {
    const child = spawn(path, args, {
      cwd,
      env,
      shell: false,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    await once(child, 'spawn')
    // A program that does not read its input is within its rights.
    child.stdin.on('error', () => {}).end(stdin)
    return new RunningProcess(child)
  }

  /** Ends the whole group: it is asked first, and made to after a while. */
  stop(): void {
    if (!running.has(this)) return
    this.#signal('SIGTERM')
    const kill = setTimeout(() => this.kill(), GRACE_MS)
    this.#child.once('exit', () => clearTimeout(kill))
  }

  kill(): void {
    this.#signal('SIGKILL')
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return
    try {
      process.kill(-this.#child.pid, signal)
    } catch {
      // The group is already gone.
    }
  }
}

/** A group of its own would outlive this process. */
const running = new Set<RunningProcess>()
process.on('exit', () => {
  for (const each of running) each.kill()
})

/** What comes in, until the stream ends or is closed. */
async function* untilClosed(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream) yield chunk
  } catch (error) {
    const isClosed = error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
    if (!isClosed) throw error
  }
}
