import { createMCPClient } from '@ai-sdk/mcp'

/** Calls go through the tools that it makes for a model, as an agent's do. */
export async function connect(url) {
  const client = await createMCPClient({ transport: { type: 'http', url } })
  const tools = await client.tools()
  return {
    revision: client.initializeResult.protocolVersion,
    listTools: async () => Object.keys(tools),
    call: (name, args) => tools[name].execute(args, { toolCallId: name, messages: [] }),
    close: () => client.close(),
  }
}
