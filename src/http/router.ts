import type { Fault } from '../core/errors.ts'
import type { Exchange } from './exchange.ts'

export type Params = Readonly<Record<string, string>>

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'ANY'
  /** `{name}` stands for one segment. */
  readonly path: string
  /** Requested by machines continuously, so that the log has it at level debug. */
  readonly quiet?: boolean
  handle(exchange: Exchange, params: Params): Promise<void> | void
  /** Fields that this protocol adds to the body of an error or overrides. */
  describe?(fault: Fault): object
}

/** A method and a path in which `{name}` stands for one segment. */
interface Routed {
  readonly method: string
  readonly path: string
}

/** The route of a request, or the methods that its path allows. */
export type Found<R> = { readonly route: R; readonly params: Params } | { readonly allow: readonly string[] }

interface Pattern<R> {
  readonly segments: readonly string[]
  readonly routes: readonly R[]
}

const NO_PARAMS: Params = {}

/** Finds routes. Literal paths precede those with parameters, which are tried in the given order. */
export class Router<R extends Routed> {
  readonly #literal = new Map<string, R[]>()
  /** By the number of segments. */
  readonly #patterns = new Map<number, Pattern<R>[]>()

  constructor(routes: readonly R[]) {
    const byPath = new Map<string, R[]>()
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

  find(method: string, path: string): Found<R> | undefined {
    const literal = this.#literal.get(path)
    const route = literal && pick(literal, method)
    if (route !== undefined) return { route, params: NO_PARAMS }
    const allow: string[] = literal?.map((other) => other.method) ?? []
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

function pick<R extends Routed>(routes: readonly R[], method: string): R | undefined {
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
