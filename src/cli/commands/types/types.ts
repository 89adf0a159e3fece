import { z } from 'zod'
import type { Client } from '../../client.ts'
import type { Output } from '../../output.ts'

/** As much of a type as is shown here; a newer server may say more. */
export const typeShape = z.looseObject({
  type: z.string(),
  description: z.string().nullable(),
  payload_schema: z.looseObject({}).nullable(),
  enabled: z.boolean(),
  tool: z.looseObject({ name: z.string().optional() }).nullable(),
  version: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
})

export type TaskType = z.output<typeof typeShape>

const pageShape = z.looseObject({ task_types: z.array(typeShape), next_cursor: z.string().nullable() })

export function pathOf(type: string): string {
  return `/v1/task-types/${encodeURIComponent(type)}`
}

export async function allTypes(client: Client): Promise<TaskType[]> {
  const found: TaskType[] = []
  let cursor: string | undefined
  do {
    const page = await client.get('/v1/task-types', { limit: 200, cursor }, pageShape)
    found.push(...page.task_types)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return found
}

export function toolOf({ type, tool }: TaskType): string {
  return tool === null ? '' : (tool.name ?? type)
}

export function tellType(output: Output, type: TaskType): void {
  const { payload_schema, version, created_at, updated_at, ...rest } = type
  for (const [name, value] of Object.entries(rest)) {
    if (value !== null)
      output.say(`${name.padEnd(30)} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  }
  output.say(`${'version'.padEnd(30)} ${version}, from ${updated_at}; first registered ${created_at}`)
  if (payload_schema !== null) output.say(`payload_schema\n${JSON.stringify(payload_schema, null, 2)}`)
}
