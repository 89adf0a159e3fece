import { MultiServerMCPClient } from '@langchain/mcp-adapters'

const SERVER = 'asyncgate'

/** Calls use the tools that the adapter creates for a model, as those of an agent do. */
export async function connect(url) {
  const client = new MultiServerMCPClient({ mcpServers: { [SERVER]: { transport: 'http', url } } })
  const tools = await client.getTools()
  const { transport } = await client.getClient(SERVER)
  return {
    revision: transport.protocolVersion,
    listTools: async () => tools.map(({ name }) => name),
    // A result with one text is that text; a result that is an error is thrown by the tool itself.
    call: async (name, args) => ({
      content: [{ text: await tools.find((tool) => tool.name === name).invoke(args) }],
    }),
    close: () => client.close(),
  }
}
