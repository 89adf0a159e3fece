import { z } from 'zod'
import { jsonText } from '../../engine/stored-json.ts'
import { TOOL_CALL } from '../../features/sessions/tool-calls.ts'
import type { TaskView } from '../../features/tasks/shape.ts'

type Call = Pick<TaskView, 'type' | 'payload'>

/** The type of a task; for a call of an upstream tool, the tool. */
export function titleOf({ type, payload }: Call): string {
  const call = callIn({ type, payload })
  return call === undefined ? type : `${call.upstream} › ${call.tool}`
}

/** The beginning of the payload, for lists. */
export function peek({ type, payload }: Call): string {
  const call = callIn({ type, payload })
  return call?.arguments === undefined
    ? jsonText(payload).slice(0, 400)
    : JSON.stringify(call.arguments).slice(0, 400)
}

const callShape = z.object({ upstream: z.string(), tool: z.string(), arguments: z.unknown().optional() })

function callIn({ type, payload }: Call): z.output<typeof callShape> | undefined {
  return type === TOOL_CALL ? callShape.safeParse(payload).data : undefined
}
