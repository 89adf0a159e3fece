import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { ProtocolError, SERVER_INFO_META_KEY, type Tool } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { type JsonPieces, writeJson } from '../../engine/stored-json.ts'
import { isObject } from '../../util/guards.ts'
import { callTool, LIST_HINT, type ServerDefinition } from '../server.ts'
import { directCall } from '../tools/discover.ts'
import { type Call, isTaskTool, wantsProgress } from '../tools/tool.ts'
import { type PlainRequest, readPlainRequest } from './envelope.ts'
import { sendResult } from './wire.ts'

/**
 * Serves plain modern requests about tools and tasks without the SDK, which is several times slower. The responses are
 * the same.
 */
export class FastPath {
  readonly #definition: ServerDefinition
  /** The end of a result: its type, if the result has none, and the server info. */
  readonly #seal: { readonly complete: string; readonly other: string }
  readonly #lists = new WeakMap<readonly Tool[], string>()

  constructor(definition: ServerDefinition) {
    this.#definition = definition
    const other = `"_meta":${JSON.stringify({ [SERVER_INFO_META_KEY]: definition.info })}}`
    this.#seal = { complete: `"resultType":"complete",${other}`, other }
  }

  /** Resolves with false, without side effects, if the request is not for this path. */
  async serve(
    headers: IncomingHttpHeaders,
    body: unknown,
    call: Call,
    response: ServerResponse,
  ): Promise<boolean> {
    const request = readPlainRequest(headers, body)
    if (request === undefined) return false
    const result = await this.#result(request, call).catch((error: unknown) => {
      // JSON-RPC errors are left to the SDK too.
      if (error instanceof ProtocolError) return undefined
      throw error
    })
    if (result === undefined) return false
    await sendResult(response, request.id, result)
    return true
  }

  async #result(request: PlainRequest, call: Call): Promise<string | JsonPieces | undefined> {
    const { tools, tasks } = this.#definition
    if (request.method === 'tools/list') return this.#listed(await tools.list(call, 'modern'))
    if (request.method === 'tools/call') {
      const { name, args } = directCall(request.name, request.args)
      const found = await tools.find(name, call.credential)
      // The SDK writes the event stream of a call with progress.
      if (found !== undefined && isTaskTool(found) && wantsProgress(call)) return undefined
      return found && this.#sealed(await callTool(this.#definition, found, args, call))
    }
    if (call.tasks !== 'handle') return undefined
    switch (request.method) {
      case 'tasks/get':
        return this.#sealed(await tasks.modern.get(request.taskId, call))
      case 'tasks/cancel':
        await tasks.modern.cancel(request.taskId, call)
        return `{${this.#seal.complete}`
      case 'tasks/update':
        await tasks.modern.update(request.taskId, request.responses, call)
        return `{${this.#seal.complete}`
    }
  }

  #sealed(result: object): string | JsonPieces {
    // The result of an upstream may have its own _meta.
    if ('_meta' in result) return writeJson(this.#signed({ ...result }))
    const written = writeJson(result)
    if (typeof written !== 'string') return writeJson(this.#signed({ ...result }))
    return `${written.slice(0, -1)},${'resultType' in result ? this.#seal.other : this.#seal.complete}`
  }

  #signed({ _meta, ...result }: Fields): object {
    const others = isObject(_meta) ? _meta : {}
    const signed = { ...others, [SERVER_INFO_META_KEY]: this.#definition.info }
    return { ...('resultType' in result ? {} : { resultType: 'complete' }), ...result, _meta: signed }
  }

  #listed(tools: readonly Tool[]): string | JsonPieces {
    const known = this.#lists.get(tools)
    if (known !== undefined) return known
    const listed = this.#sealed({ tools, ...LIST_HINT })
    if (typeof listed === 'string') this.#lists.set(tools, listed)
    return listed
  }
}
