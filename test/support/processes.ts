import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const CHILDREN = new URL('../proofs/children/', import.meta.url)

export interface Child {
  readonly process: ChildProcess
  /** Rejects if it ends. */
  readonly alive: Promise<never>
  /** Ends it by SIGKILL; resolves when it has ended and all that it wrote is read. */
  kill(): Promise<void>
  /** Tells it to finish, and expects that it ends well. */
  finish(): Promise<void>
}

/** The arguments with which node runs a script of test/proofs/children; the script finds its options as JSON. */
export function childArguments(name: string, options: unknown): string[] {
  const script = fileURLToPath(new URL(`${name}.ts`, CHILDREN))
  return ['--import', 'tsx', script, JSON.stringify(options)]
}

/** Runs a script of test/proofs/children. It does not outlive this process: its channel closes, and it finishes. */
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
  // Whoever waits for something of the child hears of its end; if nobody waits, its end is no news.
  alive.catch(() => {})
  return {
    process: child,
    alive,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async finish() {
      // It closes the channel itself: of a channel that was closed here, the child's end would not be told.
      if (child.connected) child.send('finish')
      if ((await ended) !== 0) await alive
    },
  }
}

/** In a child: what to do when it is told to finish, or when the process that started it is gone. */
export function whenToldToFinish(finish: () => unknown): void {
  process.on('message', (message) => {
    if (message === 'finish') process.disconnect()
  })
  process.once('disconnect', finish)
}
