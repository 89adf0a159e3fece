import { createInterface } from 'node:readline'

// The MCP server behind the gateway of the demo.

const tool = (name, description, properties, isRead) => ({
  name,
  description,
  inputSchema: { type: 'object', properties, required: Object.keys(properties) },
  annotations: { readOnlyHint: isRead },
})

const TEXT = { type: 'string' }
const TOOLS = [
  tool('search_issues', 'Searches the issues of a repository.', { repository: TEXT, query: TEXT }, true),
  tool(
    'get_issue',
    'Returns one issue with its comments.',
    { repository: TEXT, number: { type: 'integer' } },
    true,
  ),
  tool('create_issue', 'Opens an issue.', { repository: TEXT, title: TEXT, body: TEXT }, false),
  tool(
    'merge_pull_request',
    'Merges a pull request.',
    { repository: TEXT, number: { type: 'integer' } },
    false,
  ),
]

const reply = (id, rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...rest })}\n`)

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line)
  if (method === 'initialize') {
    const serverInfo = { name: 'tracker', version: '2.3.0' }
    reply(id, { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } })
  } else if (method === 'tools/list') reply(id, { result: { tools: TOOLS } })
  else if (method === 'tools/call')
    reply(id, { result: { content: [{ type: 'text', text: '3 issues found' }] } })
  else if (id !== undefined) reply(id, { error: { code: -32_601, message: 'Method not found' } })
}
