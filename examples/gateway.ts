import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { z } from 'zod'

/** Settings for a gate with one upstream MCP server and rules for its tools. */
export function behindTheGate(
  folder: string,
  upstream: { readonly name: string; readonly command: string; readonly args: readonly string[] },
  policies: readonly object[],
): Record<string, string> {
  const { name, ...program } = upstream
  const upstreamsFile = join(folder, 'upstreams.json')
  const policiesFile = join(folder, 'policies.json')
  writeFileSync(upstreamsFile, JSON.stringify([{ name, transport: { type: 'stdio', ...program } }]))
  writeFileSync(policiesFile, JSON.stringify(policies))
  return { ASYNCGATE_UPSTREAMS_FILE: upstreamsFile, ASYNCGATE_POLICIES_FILE: policiesFile }
}

/** The main file of an installed MCP reference server. */
export function serverFile(name: string): string {
  const require = createRequire(import.meta.url)
  return join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist', 'index.js')
}

export interface Agent {
  /** Calls a tool, and returns its result as an object. */
  call(tool: string, input?: object): Promise<Readonly<Record<string, unknown>>>
  /** Resolves when the gate offers the tool. */
  offered(tool: string): Promise<void>
  close(): Promise<void>
}

/** An agent that uses MCP without MCP Tasks. */
export async function agent(url: string, name: string): Promise<Agent> {
  const client = new Client({ name, version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp?schemas=output`)))
  return {
    async call(tool, input = {}) {
      const { structuredContent, content, isError } = await client.callTool({
        name: tool,
        arguments: { agent_id: name, ...input },
      })
      if (isError) throw new Error(JSON.stringify(content))
      return z.record(z.string(), z.unknown()).parse(structuredContent ?? { content })
    },
    async offered(tool) {
      for (;;) {
        const { tools } = await client.listTools()
        if (tools.some((listed) => listed.name === tool)) return
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    },
    close: () => client.close(),
  }
}

/** Sends a REST request, with the key of a person or without a key. */
export async function rest(url: string, path: string, body?: object, key?: string): Promise<unknown> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const content: unknown = await response.json()
  if (!response.ok) throw new Error(JSON.stringify(content))
  return content
}
