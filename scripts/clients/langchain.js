import { MultiServerMCPClient } from '@langchain/mcp-adapters'

const SERVER = 'asyncgate'

/** Calls go through the tools that it makes for a model, as an agent's do. */
export async function connect(url) {
  const client = new MultiServerMCPClient({ mcpServers: { [SERVER]: { transport: 'http', url } } })
  const tools = await client.getTools()
  const { transport } = await client.getClient(SERVER)
  return {
    revision: transport.protocolVersion,
    listTools: async () => tools.map(({ name }) => name),
    // An answer that is an error is thrown by the tool itself.
    call: (name, args) => tools.find((tool) => tool.name === name).invoke(args),
    close: () => client.close(),
  }
}
