import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'

export async function connect(url) {
  const transport = new StreamableHTTPClientTransport(new URL(url))
  const client = new Client({ name: 'client-check', version: '1' })
  await client.connect(transport)
  return {
    revision: transport.protocolVersion,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    async follow(name, args) {
      const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema)
      for await (const message of stream) {
        if (message.type === 'error') throw message.error
        if (message.type === 'result') return message.result
      }
    },
    close: () => client.close(),
  }
}
