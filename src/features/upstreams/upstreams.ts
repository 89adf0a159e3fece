import type { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { OfferKind, UpstreamOffers } from './reads.ts'
import type { UpstreamDraft } from './shape.ts'
import type { UpstreamDetail, UpstreamToolView, UpstreamView } from './view.ts'

/**
 * A tool of an upstream as clients see it: its definition is accepted, its texts are bounded and without invisible
 * characters. They are still untrusted and must be treated as data.
 */
export interface UpstreamTool {
  /** The name for clients: `<upstream>__<tool>`, shortened if it is too long. */
  readonly name: string
  readonly upstream: string
  /** The name at the upstream. */
  readonly tool: string
  readonly category: string | null
  readonly hash: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly annotations?: JsonObject
}

/** The upstreams of one tenant. */
export interface UpstreamRegistry {
  readonly tenant: number
  /** Sorted by name. */
  list(): readonly UpstreamView[]
  get(name: string): UpstreamDetail | undefined
  /** Creates an upstream, or replaces the one with the same name. Adding the same again changes nothing. */
  add(draft: UpstreamDraft, by: PrincipalKey): Promise<UpstreamView>
  /** Also deletes its accepted definitions. Resolves with whether there was such an upstream. */
  remove(name: string): Promise<boolean>
  /** Accepts the definition with this hash only. */
  accept(name: string, tool: string, hash: string, by: PrincipalKey): Promise<UpstreamToolView>
  /** The tools that can be called, sorted by name. The list is the same object until it changes. */
  tools(): readonly UpstreamTool[]
  /** A tool by its name for clients. */
  find(name: string): UpstreamTool | undefined
  /** Why a tool that `find` does not return cannot be called; undefined if no upstream has or had a tool of this name. */
  absence(name: string): Fault | undefined
  /** A tool by its name at the upstream. Throws a Fault if it cannot be called. */
  offered(upstream: string, tool: string): UpstreamTool
  /** The listener is called when `tools()` has changed. Returns an unsubscribe function. */
  onTools(listener: () => void): () => void
  /** Prompts and resources. It is the same object until it changes. */
  offers(): UpstreamOffers
  /** The listener is called with what has changed in `offers()`. Returns an unsubscribe function. */
  onOffers(listener: (kind: Exclude<OfferKind, 'completions'>) => void): () => void
  /** Asks an upstream to complete an argument; `ref` is a prompt or template as the upstream names it. Rejects with a Fault. */
  complete(upstream: string, asked: Completing, signal?: AbortSignal): Promise<Completed>
}

export interface Completing {
  readonly ref:
    | { readonly type: 'ref/prompt'; readonly name: string }
    | { readonly type: 'ref/resource'; readonly uri: string }
  readonly argument: { readonly name: string; readonly value: string }
  /** The known values of other arguments. */
  readonly others?: Readonly<Record<string, string>> | undefined
}

export interface Completed {
  readonly values: readonly string[]
  readonly total?: number
  readonly hasMore?: boolean
}
