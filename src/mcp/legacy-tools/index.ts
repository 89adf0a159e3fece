import type { AnyLegacyTool } from './legacy-tool.ts'
import { notificationTools, resultTools } from './results.ts'
import { taskTools } from './tasks.ts'
import { workerTools } from './worker.ts'

/** Every tool of the old names, to be listed only where the operator asks for them. */
export const LEGACY_TOOLS: readonly AnyLegacyTool[] = [
  ...taskTools,
  ...resultTools,
  ...notificationTools,
  ...workerTools,
]
