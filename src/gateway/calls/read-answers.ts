import type { CallToolResult } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import { readProblem, type UpstreamRead } from '../../features/upstreams/reads.ts'
import { cleanLine } from '../../util/untrusted-text.ts'

/** The response to a call: the result of a tool, a prompt, or the contents of a resource. */
export type Answer = CallToolResult | ReadAnswer

export interface ReadAnswer {
  readonly _meta: Record<string, unknown>
  readonly [member: string]: unknown
}

const meta = z.record(z.string(), z.unknown()).optional()

const promptAnswer = z.looseObject({ messages: z.array(z.looseObject({})), _meta: meta })
const resourceAnswer = z.looseObject({ contents: z.array(z.looseObject({ uri: z.string() })), _meta: meta })

/** The limit of MCP. */
const MAX_VALUES = 100
const MAX_VALUE = 1000

export const completeAnswer = z.looseObject({
  completion: z
    .looseObject({
      values: z.array(z.string()),
      total: z.number().optional(),
      hasMore: z.boolean().optional(),
    })
    .transform(({ values, total, hasMore }) => ({
      values: values.slice(0, MAX_VALUES).map((value) => cleanLine(value, MAX_VALUE)),
      ...(total !== undefined && { total }),
      ...(hasMore !== undefined && { hasMore }),
    })),
})

/** The MCP request for a prompt or resource, and the schema of its result. */
export function readRequest(read: UpstreamRead, args: JsonObject) {
  const flaw = readProblem(read, args)
  if (flaw !== undefined) throw new Fault('VALIDATION_ERROR', flaw)
  return read.kind === 'resource'
    ? { method: 'resources/read', params: { uri: args.uri }, answer: resourceAnswer }
    : { method: 'prompts/get', params: { name: read.name, arguments: args }, answer: promptAnswer }
}
