import type { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { OfferKind, UpstreamOffers } from './reads.ts'
import type { UpstreamDetail, UpstreamDraft, UpstreamToolView, UpstreamView } from './shape.ts'

/**
 * A tool of an upstream as clients may see it: its definition is accepted, its texts are bounded and free of what does
 * not show. They are still somebody else's words, to be handed on as data only.
 */
export interface UpstreamTool {
  /** What clients call it: `<upstream>__<tool>`, or a form of that which fits. */
  readonly name: string
  readonly upstream: string
  /** What the upstream calls it. */
  readonly tool: string
  readonly category: string | null
  readonly hash: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly annotations?: JsonObject
}

/** The upstreams of one tenant, if the gate has any. */
export interface UpstreamRegistry {
  /** Whose they are. */
  readonly tenant: number
  /** By name. */
  list(): readonly UpstreamView[]
  get(name: string): UpstreamDetail | undefined
  /** Creates an upstream, or replaces the one of that name. The same again changes nothing. */
  add(draft: UpstreamDraft, by: PrincipalKey): Promise<UpstreamView>
  /** Whether it was there. What was accepted of it is forgotten. */
  remove(name: string): Promise<boolean>
  /** Accepts the definition with this hash, and no other. */
  accept(name: string, tool: string, hash: string, by: PrincipalKey): Promise<UpstreamToolView>
  /** Those that may be called, by name. The same list as long as they are the same. */
  tools(): readonly UpstreamTool[]
  /** By the name that clients use. */
  find(name: string): UpstreamTool | undefined
  /** Why a tool that `find` does not know cannot be called; undefined if no upstream has or had a tool of this name. */
  absence(name: string): Fault | undefined
  /** A tool by the name that its upstream uses. Throws a Fault that says why it cannot be called. */
  offered(upstream: string, tool: string): UpstreamTool
  /** Calls back when `tools()` is another list. Returns the way to stop listening. */
  onTools(listener: () => void): () => void
  /** What they offer besides tools. The same object as long as it is the same. */
  offers(): UpstreamOffers
  /** Calls back when `offers()` is another one, with what has changed. Returns the way to stop listening. */
  onOffers(listener: (kind: Exclude<OfferKind, 'completions'>) => void): () => void
  /** Has an upstream complete an argument; `ref` names a prompt or a template as the upstream does. Rejects with a Fault. */
  complete(upstream: string, asked: Completing, signal?: AbortSignal): Promise<Completed>
}

export interface Completing {
  readonly ref:
    | { readonly type: 'ref/prompt'; readonly name: string }
    | { readonly type: 'ref/resource'; readonly uri: string }
  readonly argument: { readonly name: string; readonly value: string }
  /** The values of other arguments, if they are known. */
  readonly others?: Readonly<Record<string, string>> | undefined
}

export interface Completed {
  readonly values: readonly string[]
  readonly total?: number
  readonly hasMore?: boolean
}
