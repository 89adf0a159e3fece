import { createServer } from 'node:http'
import { InMemoryServerEventBus, type Tool } from '@modelcontextprotocol/server'
import { Authenticator } from '../../src/auth/credential.ts'
import { Endpoint } from '../../src/mcp/endpoint.ts'
import { type Face, unknownTool } from '../../src/mcp/server.ts'
import { says } from './content.ts'
import { plainTools, schemas } from './plain-tools.ts'
import { addPromptsAndResources } from './prompts-and-resources.ts'
import { sessionLeg } from './sessions.ts'
import { type TalkingTool, talkingTools } from './talking-tools.ts'

/**
 * A server with everything that the official conformance suite asks for, on the HTTP and MCP stack of the gate:
 * `fixture-server.ts [--no-fast-path] [--no-sessions]` prints its address.
 */
const bus = new InMemoryServerEventBus()

const tools: Readonly<Record<string, TalkingTool>> = {
  ...talkingTools,
  async test_trigger_tool_change() {
    bus.publish({ kind: 'tools_list_changed' })
    return says('Told.')
  },
  async test_trigger_prompt_change() {
    bus.publish({ kind: 'prompts_list_changed' })
    return says('Told.')
  },
}

const definition = (name: string): Tool => ({
  name,
  description: `Fixture ${name}`,
  inputSchema: schemas[name] ?? { type: 'object' },
})

const definitions = [...Object.keys(plainTools), ...Object.keys(tools)].map(definition)

const face: Face = {
  info: { name: 'asyncgate-fixtures', version: '1.0.0' },
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    completions: {},
    logging: {},
  },
  tools: {
    list: async () => definitions,
    find(name) {
      const answer = plainTools[name]
      return answer && (async () => answer)
    },
  },
  extend(server) {
    addPromptsAndResources(server)
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const answer = plainTools[params.name] ?? tools[params.name]?.(params.arguments ?? {}, context)
      if (answer === undefined) throw unknownTool(params.name)
      return answer
    })
  },
}

const endpoint = new Endpoint({
  face,
  bus,
  ...(!process.argv.includes('--no-sessions') && { legacy: sessionLeg(face) }),
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
// It ends with the process that started it.
process.once('disconnect', () => process.exit())
