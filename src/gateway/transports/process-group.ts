import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** How long a program has to end by itself, and then between being asked to and being made to. */
const GRACE_MS = 2_000

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** A running program that leads a process group of its own, so that whatever it has started ends with it. */
export class ProcessGroup {
  readonly #child: Child
  readonly exited: Promise<Exit>
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable

  private constructor(child: Child) {
    this.#child = child
    this.stdin = child.stdin
    this.stdout = child.stdout
    this.stderr = child.stderr
    running.add(this)
    // A signal that could not be sent; whether it has ended is told by `exited`.
    child.on('error', () => {})
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.kill()
        running.delete(this)
        resolve({ code, signal })
      })
    })
  }

  /** Rejects if the program cannot be started. There is no shell, and no variable but those given. */
  static async start({ command, args, env, cwd }: Program): Promise<ProcessGroup> {
    const child = spawn(command, args, {
      env,
      shell: false,
      detached: true,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cwd !== undefined && { cwd }),
    })
    // Known from this moment on, so that it also ends with a process that is told to stop right now.
    const group = new ProcessGroup(child)
    try {
      await once(child, 'spawn')
    } catch (error) {
      running.delete(group)
      throw error
    }
    return group
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Ends it: by the end of its input, then by asking, then by force. */
  async stop(): Promise<void> {
    this.stdin.end()
    const steps = [
      setTimeout(() => this.#signal('SIGTERM'), GRACE_MS),
      setTimeout(() => this.kill(), 2 * GRACE_MS),
    ]
    await this.exited
    for (const step of steps) clearTimeout(step)
  }

  kill(): void {
    this.#signal('SIGKILL')
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return
    try {
      process.kill(-this.pid, signal)
    } catch {
      // The group is already gone.
    }
  }
}

/** Groups of their own would outlive this process. */
const running = new Set<ProcessGroup>()
process.on('exit', () => {
  for (const group of running) group.kill()
})
