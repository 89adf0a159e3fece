import type { Gate } from '../../features/gate.ts'
import { OldTasks } from './legacy-tasks.ts'
import { TaskStates } from './states.ts'
import { TaskCalls } from './task-calls.ts'
import { Tasks } from './tasks.ts'
import { TaskWatch } from './watch.ts'

export interface TaskFaceOptions {
  readonly gate: Gate
  /** The tool with which a model goes on when the result does not come in time. */
  readonly waitTool: string
  readonly onError: (error: unknown) => void
}

/** All that MCP has about tasks, over one gate. */
export interface TaskHandlers {
  readonly gate: Gate
  readonly states: TaskStates
  readonly calls: TaskCalls
  /** Of 2026-07-28. */
  readonly modern: Tasks
  /** Of 2025-11-25. */
  readonly old: OldTasks
  readonly watch: TaskWatch
  readonly onError: (error: unknown) => void
}

export function taskHandlers({ gate, waitTool, onError }: TaskFaceOptions): TaskHandlers {
  const states = new TaskStates(gate.links)
  const modern = new Tasks({ gate, states, onError })
  const watch = new TaskWatch(gate)
  return {
    gate,
    states,
    calls: new TaskCalls({ gate, states, watch, waitTool, onError }),
    modern,
    old: new OldTasks({ gate, states, tasks: modern, onError }),
    watch,
    onError,
  }
}
