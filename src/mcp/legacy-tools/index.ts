import type { AnyLegacyTool } from './legacy-tool.ts'
import { notificationTools, resultTools } from './results.ts'
import { taskTools } from './tasks.ts'
import { workerTools } from './worker.ts'

/** The tools under their legacy names, listed only if the operator enables them. */
export const LEGACY_TOOLS: readonly AnyLegacyTool[] = [
  ...taskTools,
  ...resultTools,
  ...notificationTools,
  ...workerTools,
]
