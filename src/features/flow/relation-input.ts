import { z } from 'zod'
import { seesAll } from '../../core/authorization.ts'
import type { Relations } from '../../core/command.ts'
import { invalid } from '../../core/errors.ts'
import { FAILURE_POLICIES, MAX_DEPENDENCIES, PARENT_POLICIES, WAIT_MODES } from '../../core/flow.ts'
import type { Caller } from '../../core/principal.ts'
import { taskId, text } from '../input.ts'

export const dependency = z.strictObject({
  task_id: taskId,
  on_failure: z
    .enum(FAILURE_POLICIES)
    .optional()
    .describe('If that task fails or is canceled: cancel this one too (the default), or continue with it'),
})

/** The fields of create_task that name other tasks. */
export const relationFields = {
  parent_task_id: text(255)
    .optional()
    .describe(
      'Task that this one is part of. If it is open and yours, it counts this task as its child; otherwise it is only stored',
    ),
  parent_policy: z
    .enum(PARENT_POLICIES)
    .optional()
    .describe(
      'Whether this task is canceled if its parent fails or is canceled. Default: abandon, which lets it go on',
    ),
  depends_on: z
    .array(dependency)
    .min(1)
    .max(MAX_DEPENDENCIES)
    .optional()
    .describe('Tasks that have to end before this one can be claimed. They must exist and be visible to you'),
  depends_mode: z
    .enum(WAIT_MODES)
    .optional()
    .describe('Whether all of depends_on have to end (the default), or any one of them is enough'),
}

interface Named {
  readonly parent_task_id?: string | undefined
  readonly parent_policy?: (typeof PARENT_POLICIES)[number] | undefined
  readonly depends_on?: readonly z.output<typeof dependency>[] | undefined
  readonly depends_mode?: (typeof WAIT_MODES)[number] | undefined
}

/** The tasks that a new one names; undefined if it names none. */
export function relationsOf({ role }: Caller, input: Named): Relations | undefined {
  const { parent_task_id, parent_policy, depends_on = [], depends_mode } = input
  if (parent_policy !== undefined && parent_task_id === undefined) {
    throw invalid('parent_policy', 'needs a parent_task_id')
  }
  if (depends_mode !== undefined && depends_on.length === 0) {
    throw invalid('depends_mode', 'needs depends_on')
  }
  if (new Set(depends_on.map(({ task_id }) => task_id)).size < depends_on.length) {
    throw invalid('depends_on', 'names a task twice')
  }
  if (parent_task_id === undefined && depends_on.length === 0) return undefined
  return {
    sees_all: seesAll(role),
    parent: parent_task_id === undefined ? null : { task_id: parent_task_id, policy: parent_policy ?? null },
    depends_on: depends_on.map(({ task_id, on_failure }) => ({
      task_id,
      on_failure: on_failure ?? 'cancel',
    })),
    mode: depends_mode ?? 'all',
  }
}
