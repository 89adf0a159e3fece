import {
  acceptedContent,
  type GetPromptResult,
  inputRequired,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  type Server,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { image, PNG, resource, text } from './content.ts'

const argument = (name: string) => ({ name, description: `The argument ${name}`, required: true })

const prompts: readonly Prompt[] = [
  { name: 'test_simple_prompt', description: 'A prompt' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with arguments',
    arguments: [argument('arg1'), argument('arg2')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a resource',
    arguments: [argument('resourceUri')],
  },
  { name: 'test_prompt_with_image', description: 'A prompt with an image' },
  { name: 'test_input_required_result_prompt', description: 'A prompt that asks back' },
]

const user = (...content: GetPromptResult['messages'][number]['content'][]): GetPromptResult => ({
  messages: content.map((content) => ({ role: 'user', content })),
})

const Context = z.object({ context: z.string() })

function addPrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: [...prompts] }))
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) => {
    const { name, arguments: given = {} } = params
    switch (name) {
      case 'test_simple_prompt':
        return user(text('This is a simple prompt for testing.'))
      case 'test_prompt_with_arguments':
        return user(text(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`))
      case 'test_prompt_with_embedded_resource':
        return user(
          resource(given.resourceUri ?? '', 'text/plain', 'Embedded resource content for testing.'),
          text('Please process the embedded resource above.'),
        )
      case 'test_prompt_with_image':
        return user(image, text('Please analyze the image above.'))
      case 'test_input_required_result_prompt': {
        const answer = acceptedContent(mcpReq.inputResponses, 'user_context', Context)
        if (answer) return user(text(`The context is ${answer.context}.`))
        const asked = inputRequired.elicit({
          message: 'What context should the prompt use?',
          requestedSchema: {
            type: 'object',
            properties: { context: { type: 'string' } },
            required: ['context'],
          },
        })
        return inputRequired({ inputRequests: { user_context: asked } })
      }
      default:
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name}`)
    }
  })
  server.setRequestHandler('completion/complete', ({ params }) => ({
    completion: {
      values: ['paris', 'park', 'party'].filter((value) => value.startsWith(params.argument.value)),
      hasMore: false,
    },
  }))
}

const resources: readonly Resource[] = [
  {
    uri: 'test://static-text',
    name: 'static-text',
    description: 'A static text',
    mimeType: 'text/plain',
  },
  { uri: 'test://static-binary', name: 'static-binary', description: 'An image', mimeType: 'image/png' },
  {
    uri: 'test://watched-resource',
    name: 'watched-resource',
    description: 'A text to subscribe to',
    mimeType: 'text/plain',
  },
]

function read(uri: string): ReadResourceResult {
  if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] }
  if (resources.some((resource) => resource.uri === uri)) {
    const text = 'This is the content of the static text resource.'
    return { contents: [{ uri, mimeType: 'text/plain', text }] }
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id === undefined) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found', { uri })
  }
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
  return { contents: [{ uri, mimeType: 'application/json', text }] }
}

function addResources(server: Server): void {
  server.setRequestHandler('resources/list', () => ({ resources: [...resources] }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: 'test://template/{id}/data',
        name: 'template',
        description: 'A resource per id',
        mimeType: 'application/json',
      },
    ],
  }))
  server.setRequestHandler('resources/read', ({ params }) => read(params.uri))
}

export function addPromptsAndResources(server: Server): void {
  addPrompts(server)
  addResources(server)
}
