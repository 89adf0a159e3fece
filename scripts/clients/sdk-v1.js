import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export async function connect(url) {
  const transport = new StreamableHTTPClientTransport(new URL(url))
  const client = new Client({ name: 'client-check', version: '1' })
  await client.connect(transport)
  return {
    revision: transport.protocolVersion,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  }
}
