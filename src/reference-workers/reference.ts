import type { EgressSettings } from '../egress/settings.ts'
import type { TaskDefinition } from '../worker/index.ts'
import { commandExecute, type ExecuteOptions } from './command/execute.ts'
import { httpGet } from './http-get.ts'
import { echo, sleepThenReturn } from './simple.ts'

interface ReferenceOptions {
  /** The limits of http_get. */
  readonly egress?: Partial<EgressSettings>
  /** Required for command.execute. */
  readonly execute?: ExecuteOptions
}

export const REFERENCE_TASKS = ['echo', 'sleep_then_return', 'http_get', 'command.execute'] as const

export type ReferenceTask = (typeof REFERENCE_TASKS)[number]

type Define = (options: ReferenceOptions) => TaskDefinition | Promise<TaskDefinition>

const DEFINITIONS: Readonly<Record<ReferenceTask, Define>> = {
  echo: () => echo,
  sleep_then_return: () => sleepThenReturn,
  http_get: ({ egress }) => httpGet(egress),
  'command.execute'({ execute }) {
    if (execute === undefined) throw new TypeError('command.execute needs a list of commands.')
    return commandExecute(execute)
  },
}

/** The task definitions with these names. */
export async function referenceTasks(
  names: readonly ReferenceTask[],
  options: ReferenceOptions,
): Promise<TaskDefinition[]> {
  return Promise.all([...new Set(names)].map((name) => DEFINITIONS[name](options)))
}
