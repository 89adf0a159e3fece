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

export interface Measurements {
  readonly seconds: number
  readonly tasks: number
  /** Processor seconds per second. */
  readonly cores?: number
  readonly renewed?: number
}

/** Runs a worker in a separate process and returns its measurements. */
export function measureWorker(job: Job): Promise<Measurements> {
  const child = fork(CHILD, [JSON.stringify(job)], { execArgv: ['--import', 'tsx'] })
  return new Promise((resolve, reject) => {
    let measurements: Measurements | undefined
    child.on('message', (message: Measurements) => {
      measurements = message
    })
    child.once('exit', (code) => {
      if (code === 0 && measurements !== undefined) resolve(measurements)
      else reject(new Error(`the worker process ended with ${code}`))
    })
  })
}
