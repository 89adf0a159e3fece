import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const GIST_TOKEN = 'ghp_testtoken'
/** A valid token without permission to write gists. */
export const READING_TOKEN = 'ghp_readingtoken'

interface StoredGist {
  readonly description: string
  readonly public: boolean
  readonly files: ReadonlyMap<string, Buffer>
}

export interface GistFault {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

export interface GistServer {
  readonly url: string
  readonly gists: Map<string, StoredGist>
  /** Every request: method and path. */
  readonly requests: string[]
  /** Returns a fault with which to answer a request instead of processing it. */
  fault: ((line: string) => GistFault | undefined) | undefined
  /** The base URL of raw files, if it differs from that of the API. */
  rawUrl: string | undefined
  close(): Promise<void>
}

/** The content of larger files is truncated in the response of a gist. */
const CUT_BYTES = 1024 * 1024
/** Larger files can only be cloned. */
const MAX_RAW_BYTES = 10 * 1024 * 1024

class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The gists of GitHub's REST API, as strict as the real one: headers, shapes, limits and errors. */
export async function startGists(): Promise<GistServer> {
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      const status = error instanceof Refusal ? error.status : 500
      const message = error instanceof Error ? error.message : String(error)
      send(response, status, { message, documentation_url: 'https://docs.github.com/rest' })
    })
  })
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const line = `${request.method} ${request.url}`
    api.requests.push(line)
    const body = await bodyOf(request)
    const fault = api.fault?.(line)
    if (fault !== undefined) return send(response, fault.status, { message: 'Not now.' }, fault.headers)
    const raw = /^GET \/raw\/(\w+)\/([\w.-]+)$/.exec(line)
    if (raw !== null) return sendRaw(api, response, raw[1] ?? '', raw[2] ?? '')
    const token = checkHead(request)
    if (line === 'POST /gists') return create(api, response, token, body)
    if (line.startsWith('GET /gists?')) return send(response, 200, [])
    const [, method, id = ''] = /^(GET|DELETE) \/gists\/(\w+)$/.exec(line) ?? []
    const found = api.gists.get(id)
    if (found === undefined) throw new Refusal(404, 'Not Found')
    if (method === 'GET') return send(response, 200, shown(api, id, found))
    checkScope(token)
    api.gists.delete(id)
    return response.writeHead(204).end()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const api: GistServer = {
    url: `http://127.0.0.1:${port}`,
    gists: new Map(),
    requests: [],
    fault: undefined,
    rawUrl: undefined,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return api
}

function checkHead({ headers }: IncomingMessage): string {
  if (!headers['user-agent']) throw new Refusal(403, 'Request forbidden by administrative rules.')
  if (headers.authorization === undefined) throw new Refusal(401, 'Requires authentication')
  const [, token = ''] = /^Bearer (\S+)$/.exec(headers.authorization) ?? []
  if (token !== GIST_TOKEN && token !== READING_TOKEN) throw new Refusal(401, 'Bad credentials')
  if (headers.accept !== 'application/vnd.github+json')
    throw new Refusal(415, 'Unsupported Accept header value')
  if (headers['x-github-api-version'] !== '2022-11-28') throw new Refusal(400, 'Unsupported version')
  return token
}

/** Objects that a token may not access are reported as missing. */
function checkScope(token: string): void {
  if (token !== GIST_TOKEN) throw new Refusal(404, 'Not Found')
}

function create(api: GistServer, response: ServerResponse, token: string, body: Buffer) {
  checkScope(token)
  const asked = parsed(body)
  const files = new Map<string, Buffer>()
  for (const [name, file] of Object.entries(Object(asked.files))) {
    const content: unknown = Object(file).content
    if (typeof content !== 'string' || content.trim() === '') throw new Refusal(422, 'Validation Failed')
    files.set(name, Buffer.from(content))
  }
  if (files.size === 0 || files.size > 300) throw new Refusal(422, 'Validation Failed')
  const id = randomBytes(16).toString('hex')
  const made = { description: String(asked.description ?? ''), public: asked.public === true, files }
  api.gists.set(id, made)
  send(response, 201, shown(api, id, made), { location: `${api.url}/gists/${id}` })
}

function shown(api: GistServer, id: string, { description, public: isPublic, files }: StoredGist) {
  const entries = [...files].map(([filename, content]) => [
    filename,
    {
      filename,
      type: 'text/plain',
      language: null,
      raw_url: `${api.rawUrl ?? api.url}/raw/${id}/${filename}`,
      size: content.length,
      truncated: content.length > CUT_BYTES,
      content: content.subarray(0, CUT_BYTES).toString('utf8'),
    },
  ])
  return { id, description, public: isPublic, truncated: false, files: Object.fromEntries(entries) }
}

function sendRaw(api: GistServer, response: ServerResponse, id: string, name: string) {
  const content = api.gists.get(id)?.files.get(name)
  if (content === undefined || content.length > MAX_RAW_BYTES) throw new Refusal(404, 'Not Found')
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(content)
}

function send(response: ServerResponse, status: number, body: object, headers: object = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function parsed(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(body.toString('utf8')))
  } catch {
    throw new Refusal(400, 'Problems parsing JSON')
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}
