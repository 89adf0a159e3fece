import type { WorkerMetrics } from '../../src/worker/index.ts'
import { type Child, startChild } from '../support/processes.ts'

export interface WorkerOptions {
  readonly url: string
  readonly workerId: string
  readonly concurrency: number
  readonly leaseSeconds: number
  /** Waits until it is aborted, or takes this many milliseconds and then always returns a result. */
  readonly handler: 'hangs' | number
}

interface Said {
  readonly task_id: string
  readonly at: number
}

export type WorkerLine =
  | ({ readonly event: 'begun'; readonly fence: number; readonly attempt: number } & Said)
  | ({ readonly event: 'aborted'; readonly kind: string } & Said)
  | ({ readonly event: 'ended' } & Said)
  | { readonly event: 'stopped'; readonly metrics: WorkerMetrics }

export interface WorkerProcess extends Child {
  readonly lines: readonly WorkerLine[]
  /** Resolves when the condition holds; it is checked after each line. */
  until(isSo: (lines: readonly WorkerLine[]) => boolean): Promise<void>
  /** The events of a task. */
  of(taskId: string): string[]
  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM' | 'SIGINT'): void
}

export function startWorker(options: WorkerOptions): WorkerProcess {
  const lines: WorkerLine[] = []
  const watchers = new Set<() => void>()
  const child = startChild('worker', options, (text) => {
    lines.push(JSON.parse(text))
    for (const watcher of watchers) watcher()
  })
  return {
    ...child,
    lines,
    async until(isSo) {
      let watcher = () => {}
      const reached = new Promise<void>((resolve) => {
        watcher = () => isSo(lines) && resolve()
      })
      watchers.add(watcher)
      watcher()
      await Promise.race([reached, child.alive])
      watchers.delete(watcher)
    },
    of: (taskId) =>
      lines.flatMap((line) => ('task_id' in line && line.task_id === taskId ? [line.event] : [])),
    signal: (signal) => void child.process.kill(signal),
  }
}
