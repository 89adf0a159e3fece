import { startChild } from '../support/processes.ts'
import type { Acknowledged, Line, Refused } from './acknowledged.ts'
import type { Place } from './place.ts'

export interface LoadOptions {
  readonly place: Place
  readonly tenant: string
  /** Makes the names and keys of this run unique. */
  readonly run: string
  readonly callers: number
}

/** The input of round n, which the caller repeats if it got no response. */
export function createInput(n: number) {
  return { type: 'job', idempotency_key: `round ${n}`, payload: { n } }
}

/** A process of many callers, and the responses that they received so far. */
export interface Load {
  readonly acknowledged: readonly Acknowledged[]
  readonly refused: readonly Refused[]
  /** The longest duration of a call. */
  readonly slowest: number
  /** Resolves when the condition holds; it is checked after each call. */
  until(isSo: (load: Load) => boolean): Promise<void>
  kill(): Promise<void>
  /** Waits for the calls in progress, and expects that the process exits with 0. */
  finish(): Promise<void>
}

export function startLoad(options: LoadOptions): Load {
  const acknowledged: Acknowledged[] = []
  const refused: Refused[] = []
  const watchers = new Set<() => void>()
  const child = startChild('load', options, (text) => {
    const line = parse(text)
    if (line === undefined) return
    if ('acknowledged' in line) acknowledged.push(line.acknowledged)
    else refused.push(line.refused)
    load.slowest = Math.max(load.slowest, line.ms)
    for (const watcher of watchers) watcher()
  })
  const load = {
    acknowledged,
    refused,
    slowest: 0,
    async until(isSo: (load: Load) => boolean) {
      let watcher = () => {}
      const reached = new Promise<void>((resolve) => {
        watcher = () => isSo(load) && resolve()
      })
      watchers.add(watcher)
      watcher()
      await Promise.race([reached, child.alive])
      watchers.delete(watcher)
    },
    kill: child.kill,
    finish: child.finish,
  }
  return load
}

/** The last line of a killed process may be truncated; then its caller got no acknowledgement. */
function parse(text: string): Line | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
