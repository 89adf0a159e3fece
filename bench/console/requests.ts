import { Agent, type IncomingMessage, request } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 4 })

/** The response to a request of a browser. Redirects are followed. */
export async function get(port: number, path: string): Promise<string> {
  const response = await send(port, 'GET', path)
  const text = await textOf(response)
  const { location } = response.headers
  if (response.statusCode === 303 && location !== undefined) return get(port, location)
  if (response.statusCode !== 200)
    throw new Error(`${path} has status ${response.statusCode}: ${text.slice(0, 300)}`)
  return text
}

/** The response of an operation. */
export async function post(port: number, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await send(port, 'POST', path, JSON.stringify(body))
  const text = await textOf(response)
  if (response.statusCode !== 200) throw new Error(`${path} has status ${response.statusCode}: ${text}`)
  return JSON.parse(text)
}

export function send(port: number, method: string, path: string, body?: string): Promise<IncomingMessage> {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path: path.replaceAll('<', '%3C'), agent, headers }, resolve)
      .on('error', reject)
      .end(body)
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

/** The list of tasks with the files that it loads, in bytes. */
export async function bytesOfFirstPage(port: number): Promise<number> {
  const page = await get(port, '/console/tasks')
  const files = page.matchAll(/(?:href|src)="(\/console\/[^"]+\.(?:css|js|svg)[^"]*)"/g)
  let bytes = Buffer.byteLength(page)
  for (const [, path = ''] of files) bytes += Buffer.byteLength(await get(port, path))
  return bytes
}
