import type { JsonObject } from '../../core/json/json.ts'

/**
 * Prompts and resources of an upstream are read by calls like tool calls. In rules, tasks, `tools.allow` and `tools.deny`
 * these calls have the names `prompts/get:NAME` and `resources/read`, which no tool can have.
 */
export type UpstreamRead = { readonly kind: 'prompt'; readonly name: string } | { readonly kind: 'resource' }

export const READ_RESOURCE = 'resources/read'
const GET_PROMPT = 'prompts/get:'

/** Matches all prompts in rules. */
export const ANY_PROMPT = `${GET_PROMPT}*`

/** The name of the call that gets a prompt. */
export function promptCall(prompt: string): string {
  return GET_PROMPT + prompt
}

/** What a call of this name reads; undefined if it is a tool call. */
export function readOf(tool: string): UpstreamRead | undefined {
  if (tool === READ_RESOURCE) return { kind: 'resource' }
  return tool.startsWith(GET_PROMPT) ? { kind: 'prompt', name: tool.slice(GET_PROMPT.length) } : undefined
}

/** The problem with the arguments of a call that reads; undefined if there is none. */
export function readProblem(
  read: UpstreamRead,
  args: JsonObject,
): { readonly path: string; readonly problem: string } | undefined {
  if (read.kind === 'resource') {
    const isUri = typeof args.uri === 'string' && args.uri !== ''
    if (!isUri) return { path: 'uri', problem: 'must be the URI of a resource, as its upstream writes it' }
    const other = Object.keys(args).find((name) => name !== 'uri')
    return other === undefined ? undefined : { path: other, problem: 'is unknown: a read has only a uri' }
  }
  const [name] = Object.entries(args).find(([, value]) => typeof value !== 'string') ?? []
  return name === undefined ? undefined : { path: name, problem: 'must be text, as all arguments of prompts' }
}

interface Described {
  readonly title?: string
  readonly description?: string
}

export interface UpstreamPrompt extends Described {
  /** The name for clients: `<upstream>__<prompt>`, shortened if it is too long. */
  readonly name: string
  readonly upstream: string
  /** The name at the upstream. */
  readonly prompt: string
  readonly arguments?: readonly (Described & { readonly name: string; readonly required?: boolean })[]
}

export interface UpstreamResource extends Described {
  /** The URI for clients: `<upstream>+<URI at the upstream>`. */
  readonly uri: string
  readonly upstream: string
  /** The URI at the upstream. */
  readonly own: string
  readonly name: string
  readonly mimeType?: string
  readonly size?: number
  readonly annotations?: JsonObject
}

export interface UpstreamTemplate extends Described {
  /** The template for clients: `<upstream>+<template at the upstream>`. */
  readonly uriTemplate: string
  readonly upstream: string
  readonly own: string
  readonly name: string
  readonly mimeType?: string
  readonly annotations?: JsonObject
}

/** What upstreams offer besides tools, each list sorted by name. Texts are bounded, but untrusted. */
export interface UpstreamOffers {
  /** The names of all upstreams, including those that offer none of these. */
  readonly upstreams: readonly string[]
  readonly prompts: readonly UpstreamPrompt[]
  readonly resources: readonly UpstreamResource[]
  readonly templates: readonly UpstreamTemplate[]
  /** The names of the upstreams that support prompts, resources and completions. */
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

/** The URI, or URI template, of an upstream's resource for clients. */
export function outwardUri(upstream: string, uri: string): string {
  return upstream + SEPARATOR + uri
}

/** The upstream that an outward URI names, and the URI at that upstream. */
export function splitUri(uri: string): { readonly upstream: string; readonly own: string } | undefined {
  // Names of upstreams never contain a plus.
  const at = uri.indexOf(SEPARATOR)
  return at < 0 ? undefined : { upstream: uri.slice(0, at), own: uri.slice(at + SEPARATOR.length) }
}
