import { setTimeout as delay } from 'node:timers/promises'
import { type CallToolResult, inputRequired, type ServerContext } from '@modelcontextprotocol/server'
import type { Run } from './fixture-tools.ts'

const says = (value: unknown): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
})

export const FORM = {
  type: 'object',
  properties: {
    size: {
      type: 'string',
      title: 'Size',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
    count: { type: 'integer', minimum: 1, maximum: 9 },
  },
  required: ['size'],
} as const

export const PAGE = 'https://pay.example/checkout?order=7'

/** Asks for a form: a request of a legacy server, or a result of a modern one. */
async function form(message: string, { mcpReq }: ServerContext) {
  const requestedSchema = { ...FORM, required: ['size'] }
  if (mcpReq.envelope === undefined) {
    const params = { mode: 'form' as const, message, requestedSchema }
    // On the stream of the call, unlike `elicitInput`.
    return says(await mcpReq.send({ method: 'elicitation/create', params }))
  }
  if (mcpReq.inputResponses !== undefined) {
    return says({ ...mcpReq.inputResponses, state: mcpReq.requestState() })
  }
  return inputRequired({
    inputRequests: { order: inputRequired.elicit({ message, requestedSchema }) },
    requestState: 'secret-state-of-the-upstream',
  })
}

/** Tools that ask questions. */
export const ASKING: Readonly<Record<string, Run>> = {
  order: async ({ message }, context) => form(String(message ?? 'Which size?'), context),
  pay: async (_, { mcpReq }) => {
    const message = 'Pay first.'
    if (mcpReq.envelope === undefined) {
      return says(await mcpReq.elicitInput({ mode: 'url', message, url: PAGE, elicitationId: 'e1' }))
    }
    if (mcpReq.inputResponses !== undefined) return says(mcpReq.inputResponses)
    return inputRequired({ inputRequests: { page: inputRequired.elicitUrl({ message, url: PAGE }) } })
  },
  /** Needs two answers. */
  both: async (_, { mcpReq }) => {
    if (mcpReq.inputResponses !== undefined) return says(mcpReq.inputResponses)
    const ask = (message: string) =>
      inputRequired.elicit({ message, requestedSchema: { ...FORM, required: ['size'] } })
    return inputRequired({ inputRequests: { first: ask('First?'), second: ask('Second?') } })
  },
  /** Is busy once. */
  busy: async (_, { mcpReq }) =>
    mcpReq.requestState() === undefined
      ? inputRequired({ requestState: 'again' })
      : says(mcpReq.requestState()),
  sample: async (_, { mcpReq }) => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hello' } }]
    if (mcpReq.envelope !== undefined) {
      return inputRequired({ inputRequests: { s: inputRequired.createMessage({ messages, maxTokens: 5 }) } })
    }
    const sent = mcpReq.send({ method: 'sampling/createMessage', params: { messages, maxTokens: 5 } })
    return says(await sent.catch((error: Error) => ({ refused: error.message })))
  },
  roots: async (_, { mcpReq }) => {
    if (mcpReq.envelope !== undefined) {
      return inputRequired({ inputRequests: { r: inputRequired.listRoots() } })
    }
    const sent = mcpReq.send({ method: 'roots/list' })
    return says(await sent.catch((error: Error) => ({ refused: error.message })))
  },
  /** Asks for something that no form can show. */
  nested: async (_, { mcpReq }) => {
    const params = { message: 'Deep?', requestedSchema: { type: 'object', properties: { a: deep(500) } } }
    const sent = mcpReq.send({ method: 'elicitation/create', params } as never)
    return says(await sent.catch((error: Error) => ({ refused: error.message })))
  },
  /** Waits longer than its question. */
  impatient: async (_, { mcpReq }) => {
    const asked = mcpReq.elicitInput(
      { mode: 'form', message: 'Quick!', requestedSchema: { ...FORM, required: ['size'] } },
      { timeout: 2000 },
    )
    return says(await asked.catch(() => 'nobody answered'))
  },
  /** Keeps a call open. */
  idle: async ({ ms }) => {
    await delay(Number(ms))
    return says('rested')
  },
}

function deep(levels: number): object {
  let schema: object = { type: 'string' }
  for (let i = 0; i < levels; i++) schema = { type: 'object', properties: { a: schema } }
  return schema
}
