import type { JsonObject } from '../../core/json/json.ts'

/**
 * What an upstream offers besides tools is read by calls like those of its tools. Rules, tasks and `tools.allow` and
 * `tools.deny` know these calls by the names `prompts/get:NAME` and `resources/read`, which no tool may have.
 */
export type UpstreamRead = { readonly kind: 'prompt'; readonly name: string } | { readonly kind: 'resource' }

export const READ_RESOURCE = 'resources/read'
const GET_PROMPT = 'prompts/get:'

/** All prompts, for rules. */
export const ANY_PROMPT = `${GET_PROMPT}*`

/** The call by which a prompt is got. */
export function promptCall(prompt: string): string {
  return GET_PROMPT + prompt
}

/** What a call of this name reads; undefined if it is the call of a tool. */
export function readOf(tool: string): UpstreamRead | undefined {
  if (tool === READ_RESOURCE) return { kind: 'resource' }
  return tool.startsWith(GET_PROMPT) ? { kind: 'prompt', name: tool.slice(GET_PROMPT.length) } : undefined
}

/** What is wrong with the arguments of a call that reads, and where. */
export function readProblem(
  read: UpstreamRead,
  args: JsonObject,
): { readonly path: string; readonly problem: string } | undefined {
  if (read.kind === 'resource') {
    const isUri = typeof args.uri === 'string' && args.uri !== ''
    if (!isUri) return { path: 'uri', problem: 'is the URI of a resource, as its upstream writes it' }
    const other = Object.keys(args).find((name) => name !== 'uri')
    return other === undefined
      ? undefined
      : { path: other, problem: 'is not known here: a read has only a uri' }
  }
  const [name] = Object.entries(args).find(([, value]) => typeof value !== 'string') ?? []
  return name === undefined ? undefined : { path: name, problem: 'is not text, as arguments of prompts are' }
}

interface Described {
  readonly title?: string
  readonly description?: string
}

export interface UpstreamPrompt extends Described {
  /** What clients call it: `<upstream>__<prompt>`, or a form of that which fits. */
  readonly name: string
  readonly upstream: string
  /** What the upstream calls it. */
  readonly prompt: string
  readonly arguments?: readonly (Described & { readonly name: string; readonly required?: boolean })[]
}

export interface UpstreamResource extends Described {
  /** What clients call it: `<upstream>+<its own URI>`. */
  readonly uri: string
  readonly upstream: string
  /** What the upstream calls it. */
  readonly own: string
  readonly name: string
  readonly mimeType?: string
  readonly size?: number
  readonly annotations?: JsonObject
}

export interface UpstreamTemplate extends Described {
  /** `<upstream>+<its own template>`. */
  readonly uriTemplate: string
  readonly upstream: string
  readonly own: string
  readonly name: string
  readonly mimeType?: string
  readonly annotations?: JsonObject
}

/** What upstreams offer besides tools, each list in the order of its names. Texts are bounded, and still not ours. */
export interface UpstreamOffers {
  /** The names of all upstreams, whatever they offer. */
  readonly upstreams: readonly string[]
  readonly prompts: readonly UpstreamPrompt[]
  readonly resources: readonly UpstreamResource[]
  readonly templates: readonly UpstreamTemplate[]
  /** The upstreams that have prompts, that have resources, and that complete the arguments of either. */
  readonly having: Readonly<Record<OfferKind, readonly string[]>>
}

export type OfferKind = 'prompts' | 'resources' | 'completions'

export const NO_OFFERS: UpstreamOffers = {
  upstreams: [],
  prompts: [],
  resources: [],
  templates: [],
  having: { prompts: [], resources: [], completions: [] },
}

const SEPARATOR = '+'

/** The URI, or the template of one, by which clients know a resource of an upstream. */
export function outwardUri(upstream: string, uri: string): string {
  return upstream + SEPARATOR + uri
}

/** The upstream that an outward URI names, and its own URI. */
export function splitUri(uri: string): { readonly upstream: string; readonly own: string } | undefined {
  // No name of an upstream has a plus in it.
  const at = uri.indexOf(SEPARATOR)
  return at < 0 ? undefined : { upstream: uri.slice(0, at), own: uri.slice(at + SEPARATOR.length) }
}
