import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Amount } from './raw.ts'

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url))

export type Job =
  | ({ readonly kind: 'drain'; readonly port: number; readonly concurrency: number } & Amount)
  | {
      readonly kind: 'hold'
      readonly port: number
      readonly count: number
      readonly leaseSeconds: number
      readonly seconds: number
    }

export interface Figures {
  readonly seconds: number
  readonly tasks: number
  /** Processor time for each second. */
  readonly cores?: number
  readonly renewed?: number
}

/** Runs a worker in a process of its own, and gives what it measured. */
export function measureWorker(job: Job): Promise<Figures> {
  const child = fork(CHILD, [JSON.stringify(job)], { execArgv: ['--import', 'tsx'] })
  return new Promise((resolve, reject) => {
    let figures: Figures | undefined
    child.on('message', (message: Figures) => {
      figures = message
    })
    child.once('exit', (code) => {
      if (code === 0 && figures !== undefined) resolve(figures)
      else reject(new Error(`the worker process ended with ${code}`))
    })
  })
}
