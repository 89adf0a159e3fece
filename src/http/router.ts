import type { Fault } from '../core/errors.ts'
import type { Exchange } from './exchange.ts'

export type Params = Readonly<Record<string, string>>

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'ANY'
  /** `{name}` stands for one segment. */
  readonly path: string
  /** Asked by machines all the time, so that the log has it at level debug. */
  readonly quiet?: boolean
  handle(exchange: Exchange, params: Params): Promise<void> | void
  /** Fields of an error's body that this protocol adds or says differently. */
  describe?(fault: Fault): object
}

/** Where a request goes, or which methods its path takes. */
export type Found = { readonly route: Route; readonly params: Params } | { readonly allow: readonly string[] }

interface Pattern {
  readonly segments: readonly string[]
  readonly routes: readonly Route[]
}

const NO_PARAMS: Params = {}

/** Literal paths go before those with parameters. */
export class Router {
  readonly #literal = new Map<string, Route[]>()
  /** By the number of their segments. */
  readonly #patterns = new Map<number, Pattern[]>()

  constructor(routes: readonly Route[]) {
    const byPath = new Map<string, Route[]>()
    for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
    for (const [path, group] of byPath) {
      if (!path.includes('{')) {
        this.#literal.set(path, group)
        continue
      }
      const segments = path.split('/')
      const patterns = this.#patterns.get(segments.length) ?? []
      this.#patterns.set(segments.length, [...patterns, { segments, routes: group }])
    }
  }

  find(method: string, path: string): Found | undefined {
    const literal = this.#literal.get(path)
    const route = literal && pick(literal, method)
    if (route !== undefined) return { route, params: NO_PARAMS }
    const allow = literal?.map((other) => other.method) ?? []
    const segments = path.split('/')
    for (const pattern of this.#patterns.get(segments.length) ?? []) {
      const params = match(pattern.segments, segments)
      if (params === undefined) continue
      const found = pick(pattern.routes, method)
      if (found !== undefined) return { route: found, params }
      allow.push(...pattern.routes.map((other) => other.method))
    }
    return allow.length === 0 ? undefined : { allow: [...new Set(allow)].toSorted() }
  }
}

function pick(routes: readonly Route[], method: string): Route | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method
  return routes.find((route) => route.method === wanted || route.method === 'ANY')
}

function match(pattern: readonly string[], segments: readonly string[]): Params | undefined {
  const params: Record<string, string> = {}
  for (const [i, expected] of pattern.entries()) {
    const segment = segments[i] ?? ''
    if (!expected.startsWith('{')) {
      if (segment !== expected) return undefined
      continue
    }
    const value = decode(segment)
    if (value === undefined || value === '') return undefined
    params[expected.slice(1, -1)] = value
  }
  return params
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
