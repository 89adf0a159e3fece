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

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** A running program that leads its own process group, so that its children end with it. */
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
    // A signal that could not be sent; `exited` tells whether the program has ended.
    child.on('error', () => {})
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        // Children that the program has left behind.
        this.kill()
        running.delete(this)
        resolve({ code, signal })
      })
    })
  }

  /** Rejects if the program cannot be started. No shell reads the arguments, and only the given variables are set. */
  static async start({ command, args, env, cwd }: Program): Promise<ProcessGroup> {
    const child = spawn(command, args, {
      env,
      shell: false,
      detached: true,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cwd !== undefined && { cwd }),
    })
    // Registered before it has started, so that it also ends if this process stops now.
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

  /** Sends SIGTERM to the group after `delayMs` and SIGKILL two seconds later; resolves when the program has ended. */
  async stop(delayMs = 0): Promise<void> {
    if (!running.has(this)) return
    const terminate = setTimeout(() => this.#signal('SIGTERM'), delayMs)
    const kill = setTimeout(() => this.kill(), delayMs + GRACE_MS)
    await this.exited
    clearTimeout(terminate)
    clearTimeout(kill)
  }

  kill(): void {
    this.#signal('SIGKILL')
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return
    try {
      process.kill(-this.pid, signal)
    } catch {
      // The group has already ended.
    }
  }
}

/** Process groups would outlive this process. */
const running = new Set<ProcessGroup>()
process.on('exit', () => {
  for (const group of running) group.kill()
})
