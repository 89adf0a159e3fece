import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { SERVER_INFO_META_KEY, type Tool } from '@modelcontextprotocol/server'
import { readPlainRequest } from './envelope.ts'
import { type Face, LIST_HINT } from './server.ts'
import type { Call } from './tool.ts'
import { type RequestId, sendJson } from './wire.ts'

/**
 * Serves plain tools/list and tools/call requests of the modern era at a small part of the SDK's cost, and leaves
 * the rest to it. Answers are the same either way.
 */
export class FastPath {
  readonly #face: Face
  readonly #seal: string
  readonly #lists = new WeakMap<readonly Tool[], string>()

  constructor(face: Face) {
    this.#face = face
    const meta = JSON.stringify({ [SERVER_INFO_META_KEY]: face.info })
    this.#seal = `"resultType":"complete","_meta":${meta}}`
  }

  /** Resolves with false, and has done nothing, if the request is not for this path. */
  async serve(
    headers: IncomingHttpHeaders,
    body: unknown,
    call: Call,
    response: ServerResponse,
  ): Promise<boolean> {
    const request = readPlainRequest(headers, body)
    if (request === undefined) return false
    if (request.method === 'tools/list') {
      sendResult(response, request.id, this.#listed(await this.#face.tools.list(call.credential)))
      return true
    }
    const run = await this.#face.tools.find(request.name, call.credential)
    if (run === undefined) return false
    sendResult(response, request.id, `${inside(await run(request.args, call))},${this.#seal}`)
    return true
  }

  #listed(tools: readonly Tool[]): string {
    const known = this.#lists.get(tools)
    if (known !== undefined) return known
    const listed = `${inside({ tools, ...LIST_HINT })},${this.#seal}`
    this.#lists.set(tools, listed)
    return listed
  }
}

/** The JSON of an object without its closing brace. */
function inside(object: object): string {
  return JSON.stringify(object).slice(0, -1)
}

function sendResult(response: ServerResponse, id: RequestId, result: string): void {
  sendJson(response, 200, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`)
}
