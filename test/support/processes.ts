import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { compiledProgram } from './build.ts'

export interface Child {
  readonly process: ChildProcess
  /** Rejects when the child ends. */
  readonly alive: Promise<never>
  /** Sends SIGKILL; resolves when the child has ended and all its output was read. */
  kill(): Promise<void>
  /** Asks the child to finish, and expects that it exits with 0. */
  finish(): Promise<void>
}

/** The arguments with which node runs a script of test/proofs/children; the script receives its options as JSON. */
export function childArguments(name: string, options: unknown): string[] {
  return [compiledProgram(name), JSON.stringify(options)]
}

/** Runs a script of test/proofs/children. It ends with this process, because its channel closes. */
export function startChild(name: string, options: unknown, onLine: (line: string) => void = () => {}): Child {
  const child = spawn(process.execPath, childArguments(name, options), {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', onLine)
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4_000)
  })
  const ended = once(child, 'close').then(([code, signal]): number | NodeJS.Signals => code ?? signal)
  const alive = ended.then((how): never => {
    throw new Error(`${name} ended with ${how}:\n${complaints}`)
  })
  // Callers that wait for the child see the rejection; without one it must not count as unhandled.
  alive.catch(() => {})
  return {
    process: child,
    alive,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async finish() {
      // The child closes the channel; if it were closed here, the exit of the child would not be reported.
      if (child.connected) child.send('finish')
      if ((await ended) !== 0) await alive
    },
  }
}

/** In a child: runs `finish` on request, or when the parent process has ended. */
export function onFinishRequest(finish: () => unknown): void {
  process.on('message', (message) => {
    if (message === 'finish') process.disconnect()
  })
  process.once('disconnect', finish)
}
