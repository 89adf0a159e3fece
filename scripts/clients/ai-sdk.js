import { createMCPClient } from '@ai-sdk/mcp'

/** Calls use the tools that the SDK creates for a model, as those of an agent do. */
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
