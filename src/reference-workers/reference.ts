import type { EgressSettings } from '../egress/settings.ts'
import type { TaskDefinition } from '../worker/index.ts'
import { commandExecute, type ExecuteOptions } from './command/execute.ts'
import { echo } from './echo.ts'
import { httpGet } from './http-get.ts'
import { sleepThenReturn } from './sleep-then-return.ts'

export const REFERENCE_TASKS = ['echo', 'sleep_then_return', 'http_get', 'command.execute'] as const

export type ReferenceTask = (typeof REFERENCE_TASKS)[number]

export interface ReferenceOptions {
  /** What http_get may fetch. */
  readonly egress?: Partial<EgressSettings>
  /** Needed for command.execute. */
  readonly execute?: ExecuteOptions
}

/** The tasks of these names, ready for a worker. */
export function referenceTasks(
  names: readonly ReferenceTask[],
  options: ReferenceOptions,
): Promise<TaskDefinition[]> {
  return Promise.all([...new Set(names)].map((name) => referenceTask(name, options)))
}

async function referenceTask(
  name: ReferenceTask,
  { egress, execute }: ReferenceOptions,
): Promise<TaskDefinition> {
  switch (name) {
    case 'echo':
      return echo
    case 'sleep_then_return':
      return sleepThenReturn
    case 'http_get':
      return httpGet(egress)
    case 'command.execute':
      if (execute === undefined) throw new TypeError('command.execute needs a list of commands.')
      return commandExecute(execute)
  }
}
