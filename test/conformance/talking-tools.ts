import { setTimeout as delay } from 'node:timers/promises'
import {
  type CallToolResult,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../src/auth/caller.ts'
import type { Call } from '../../src/mcp/tools/tool.ts'
import type { ClientPeer } from '../../src/mcp/transport/peer.ts'
import { says } from './content.ts'
import { capabilitiesOf, inputTools } from './input-tools.ts'

export type TalkingTool = (
  args: Fields,
  context: ServerContext,
  call: Call,
) => Promise<CallToolResult | InputRequiredResult>

type Properties = ElicitRequestFormParams['requestedSchema']['properties']

const DEFAULTS: Properties = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
}

const titled = (what: string) =>
  ['First', 'Second', 'Third'].map((which, i) => ({ const: `value${i + 1}`, title: `${which} ${what}` }))

const ENUMS: Properties = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
}

const LINES = ['Tool execution started', 'Tool processing data', 'Tool execution completed']

async function log(_: Fields, { mcpReq }: ServerContext, { peer }: Call): Promise<CallToolResult> {
  for (const line of LINES) {
    if (peer === undefined) await mcpReq.log('info', line)
    else peer.notify('notifications/message', { level: 'info', data: line })
    await delay(20)
  }
  return says('Logged.')
}

function peerOf({ peer }: Call): ClientPeer {
  if (peer === undefined) throw new Error('The client has no session')
  return peer
}

async function elicit(call: Call, message: string, properties: Properties, required?: string[]) {
  const requestedSchema = { type: 'object', properties, ...(required && { required }) }
  const { action, content } = await peerOf(call).request('elicitation/create', { message, requestedSchema })
  return says(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)
}

/** Tools that send messages to the client before they return. */
export const talkingTools: Readonly<Record<string, TalkingTool>> = {
  ...inputTools,

  async test_tool_with_progress(_, { mcpReq }) {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        })
      }
      await delay(20)
    }
    return says('Done.')
  },

  test_tool_with_logging: log,
  test_logging_tool: log,

  async test_sampling({ prompt }, _, call) {
    const { content } = await peerOf(call).request('sampling/createMessage', {
      messages: [{ role: 'user', content: { type: 'text', text: String(prompt) } }],
      maxTokens: 100,
    })
    return says(`LLM response: ${JSON.stringify(content)}`)
  },

  test_elicitation: ({ message }, _, call) =>
    elicit(
      call,
      String(message),
      {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      },
      ['username', 'email'],
    ),
  test_elicitation_sep1034_defaults: (_, __, call) => elicit(call, 'Please check the defaults', DEFAULTS),
  test_elicitation_sep1330_enums: (_, __, call) => elicit(call, 'Please choose', ENUMS),

  async test_missing_capability(_, context) {
    if (capabilitiesOf(context).sampling === undefined) {
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
    }
    return says('The client can sample.')
  },

  async test_reconnection(_, { http }) {
    http?.closeSSE?.()
    await delay(100)
    return says('The stream was closed on the way.')
  },
}
