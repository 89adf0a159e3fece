import { createServer } from 'node:http'
import {
  acceptedContent,
  InMemoryServerEventBus,
  inputRequired,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { Authenticator } from '../../src/auth/credential.ts'
import { callTool, type ServerDefinition, unknownTool } from '../../src/mcp/server.ts'
import type { Call, RunTool } from '../../src/mcp/tools/tool.ts'
import { tasksRequired } from '../../src/mcp/transport/capabilities.ts'
import { Endpoint } from '../../src/mcp/transport/endpoint.ts'
import { says } from './content.ts'
import { plainTools, schemas } from './plain-tools.ts'
import { addPromptsAndResources } from './prompts-and-resources.ts'
import { type TalkingTool, talkingTools } from './talking-tools.ts'
import { openTaskFixtures } from './task-tools.ts'

/**
 * A server with everything that the official conformance suite needs, on the HTTP and MCP stack of the gate:
 * `fixture-server.ts [--no-fast-path]` prints its address.
 */
const bus = new InMemoryServerEventBus()

const tools: Readonly<Record<string, TalkingTool>> = {
  ...talkingTools,
  async test_trigger_tool_change() {
    bus.publish({ kind: 'tools_list_changed' })
    return says('RequestMeta.')
  },
  async test_trigger_prompt_change() {
    bus.publish({ kind: 'prompts_list_changed' })
    return says('RequestMeta.')
  },
}

const toolDefinition = (name: string): Tool => ({
  name,
  description: `Fixture ${name}`,
  inputSchema: schemas[name] ?? { type: 'object' },
})

const tasks = await openTaskFixtures(console.error)

/** Asks for a name, and only then becomes a task. */
const NAMED = 'test_tool_with_task'

const greet: RunTool = async ({ name }) => says(`Hello, ${name}!`)

const definitions = [
  ...[...Object.keys(plainTools), ...Object.keys(tools), 'greet', NAMED].map(toolDefinition),
  ...[...tasks.tools.values()].map((tool) => tool.definition),
]

const definition: ServerDefinition = {
  info: { name: 'asyncgate-fixtures', version: '1.0.0' },
  capabilities: () => ({
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    completions: {},
    logging: {},
  }),
  tools: {
    list: async () => definitions,
    mayWait: () => true,
    permissionOf: () => undefined,
    find(name) {
      const answer = plainTools[name]
      if (answer !== undefined) return async () => answer
      return name === 'greet' ? greet : tasks.tools.get(name)
    },
  },
  tasks: tasks.definition,
  extend(server, callOf) {
    addPromptsAndResources(server)
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const { name, arguments: args = {} } = params
      const call = callOf(context, params.task)
      if (name === NAMED) return namedTask(context, call)
      const answer = tools[name]?.(args, context, call)
      if (answer !== undefined) return answer
      const found = await definition.tools.find(name, call.credential)
      if (found === undefined) throw unknownTool(name)
      return callTool(definition, found, args, call)
    })
  },
}

const Name = z.object({ name: z.string() })

async function namedTask({ mcpReq }: ServerContext, call: Call) {
  if (call.tasks === undefined) throw tasksRequired()
  const answer = acceptedContent(mcpReq.inputResponses, 'user_name', Name)
  const tool = tasks.tools.get('named_job')
  if (tool === undefined) throw unknownTool('named_job')
  // This round ends here: the task asks nothing, so its call repeats none.
  if (answer) return callTool(definition, tool, answer, { ...call, repeat: undefined })
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } } as const
  return inputRequired({
    inputRequests: { user_name: inputRequired.elicit({ message: 'What is your name?', requestedSchema }) },
  })
}

const endpoint = new Endpoint({
  audit: { refused: () => {}, authenticated: () => {} },
  definition,
  bus,
  // The fixture has no gateway sessions.
  onLeft: async () => {},
  authenticator: new Authenticator({ api_key: null, allow_insecure_dev: true }),
  guard: { allowed_hosts: [], allowed_origins: [] },
  maxBodyBytes: 4 * 1024 * 1024,
  fastPath: !process.argv.includes('--no-fast-path'),
  onError: console.error,
})

const http = createServer((request, response) => void endpoint.handle(request, response))
http.listen(0, '127.0.0.1', () => {
  const address = http.address()
  if (typeof address === 'object' && address) console.log(`http://127.0.0.1:${address.port}/mcp`)
})
// The server ends with the process that started it.
process.once('disconnect', () => process.exit())
