import { randomBytes } from 'node:crypto'
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequest,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { says } from './content.ts'
import type { TalkingTool } from './talking-tools.ts'

const codec = createRequestStateCodec({ key: randomBytes(32) })
const Capabilities = z.record(z.string(), z.unknown())

/** The capabilities that the client declared with this request. */
export function capabilitiesOf({ mcpReq }: ServerContext): Readonly<Record<string, unknown>> {
  const declared = Object.entries(mcpReq.envelope ?? {}).find(([key]) => key === CLIENT_CAPABILITIES_META_KEY)
  return Capabilities.parse(declared?.[1] ?? {})
}

/** The returned state, or undefined in the first round; a modified state is refused. */
async function stateOf(context: ServerContext): Promise<unknown> {
  const state = context.mcpReq.requestState()
  if (state === undefined) return undefined
  try {
    return await codec.verify(z.string().parse(state), context)
  } catch {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid requestState')
  }
}

const Name = z.object({ name: z.string() })
const Confirmed = z.object({ ok: z.boolean() })
const Color = z.object({ color: z.string() })

const askName = (message = 'What is your name?') =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  })
const askConfirmation = () =>
  inputRequired.elicit({
    message: 'Please confirm',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  })
const askColor = () =>
  inputRequired.elicit({
    message: 'Step 2: What is your favorite color?',
    requestedSchema: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
  })
const askModel = (text: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text } }],
    maxTokens: 100,
  })

const has = ({ mcpReq }: ServerContext, key: string) =>
  inputResponse(mcpReq.inputResponses, key).kind !== 'missing'

/** Asks until every request has a response of its kind. */
function asking(requests: Readonly<Record<string, InputRequest>>): TalkingTool {
  return async (_, context) => {
    const answered = Object.keys(requests).every((key) => has(context, key))
    return answered
      ? says(JSON.stringify(context.mcpReq.inputResponses))
      : inputRequired({ inputRequests: requests })
  }
}

const confirming: TalkingTool = async (_, context) => {
  const state = await stateOf(context)
  const confirmed = acceptedContent(context.mcpReq.inputResponses, 'confirm', Confirmed)
  if (state === 'asked' && confirmed) return says('state-ok')
  return inputRequired({
    inputRequests: { confirm: askConfirmation() },
    requestState: await codec.mint('asked', context),
  })
}

/** Tools that need more input from the client, in one round or several. */
export const inputTools: Readonly<Record<string, TalkingTool>> = {
  async test_input_required_result_elicitation(_, { mcpReq }) {
    const answer = acceptedContent(mcpReq.inputResponses, 'user_name', Name)
    if (answer) return says(`Hello, ${answer.name}!`)
    return inputRequired({ inputRequests: { user_name: askName() } })
  },
  test_streaming_elicitation: asking({ user_name: askName() }),
  test_input_required_result_sampling: asking({
    capital_question: askModel('What is the capital of France?'),
  }),
  test_input_required_result_list_roots: asking({ client_roots: inputRequired.listRoots() }),
  test_input_required_result_request_state: confirming,
  test_input_required_result_tampered_state: confirming,

  async test_input_required_result_multiple_inputs(_, context) {
    const state = await stateOf(context)
    const keys = ['user_name', 'greeting', 'client_roots']
    if (state === 'asked' && keys.every((key) => has(context, key))) return says('All answers are there.')
    return inputRequired({
      inputRequests: {
        user_name: askName(),
        greeting: askModel('Generate a greeting'),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await codec.mint('asked', context),
    })
  },

  async test_input_required_result_multi_round(_, context) {
    const { inputResponses } = context.mcpReq
    const state = await stateOf(context)
    if (state === 'named' && acceptedContent(inputResponses, 'step2', Color))
      return says('Both steps are done.')
    const named = state === 'asked' && acceptedContent(inputResponses, 'step1', Name)
    return inputRequired({
      inputRequests: named ? { step2: askColor() } : { step1: askName('Step 1: What is your name?') },
      requestState: await codec.mint(named ? 'named' : 'asked', context),
    })
  },

  async test_input_required_result_capabilities(_, context) {
    const { sampling, elicitation } = capabilitiesOf(context)
    if (has(context, 'answer')) return says('Answered.')
    return inputRequired({
      inputRequests: {
        ...(sampling !== undefined && { answer: askModel('Say something') }),
        ...(elicitation !== undefined && { user_name: askName() }),
      },
    })
  },
}
