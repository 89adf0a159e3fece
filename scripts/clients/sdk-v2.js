import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

export async function connect(url, era) {
  const mode = era === 'modern' ? 'auto' : 'legacy'
  const client = new Client({ name: 'client-check', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return {
    revision: client.getNegotiatedProtocolVersion(),
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  }
}
