import type { z } from 'zod'
import type { Fault } from '../core/errors.ts'
import type { JsonSchema } from '../features/define-operation.ts'
import type { InboundMail } from '../features/email/email.ts'
import type { Context } from './context.ts'
import type { EventStreams } from './event-stream.ts'
import type { Exchange } from './exchange.ts'
import type { Params, Route } from './router.ts'

/**
 * An HTTP route that is no operation of the catalogue: another protocol for the same operations, a stream, a probe or a
 * webhook. The route and its part of the OpenAPI document are made from this definition.
 */
export interface Endpoint {
  /** The operationId of the OpenAPI document. */
  readonly name: string
  readonly tag: Tag
  readonly title: string
  readonly description?: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** Requested continuously by machines, so it is logged at level debug. */
  readonly quiet?: boolean
  /** Whether it works without a key. */
  readonly isPublic?: boolean
  /** The fields of the path and of the query. */
  readonly parameters?: z.ZodObject
  /** The fields of a JSON body, or the schema of each media type. */
  readonly body?: z.ZodObject | MediaTypes
  readonly responses: Readonly<Record<number, EndpointResponse>>
  /** The status codes of errors that it can respond with. */
  readonly errors: readonly number[]
  handle(context: EndpointContext, exchange: Exchange, params: Params): Promise<void> | void
  /** The fields of an error body that this protocol adds or replaces. */
  describe?(fault: Fault): object
}

export type Tag = 'tasks' | 'leases' | 'email' | 'server' | 'lease protocol' | 'worker port'

export interface EndpointResponse {
  readonly description: string
  /** The schema of a JSON body, or of each media type; absent if there is no body. */
  readonly content?: z.ZodType | MediaTypes
}

export interface MediaTypes {
  readonly mediaTypes: Readonly<Record<string, JsonSchema>>
}

export interface EndpointContext extends Context {
  readonly streams: EventStreams
  readonly inboundMail?: InboundMail | undefined
  isStopping(): boolean
}

export function endpointRoute(context: EndpointContext, endpoint: Endpoint): Route {
  const { method, path, quiet = false, describe } = endpoint
  return {
    method,
    path,
    quiet,
    ...(describe && { describe }),
    handle: (exchange, params) => endpoint.handle(context, exchange, params),
  }
}
