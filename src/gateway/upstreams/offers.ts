import { z } from 'zod'
import type { JsonObject } from '../../core/json/json.ts'
import {
  outwardUri,
  promptCall,
  READ_RESOURCE,
  type UpstreamOffers,
  type UpstreamPrompt,
  type UpstreamResource,
  type UpstreamTemplate,
} from '../../features/upstreams/reads.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import { cleanLine, cleanText, hasHidden } from '../../util/untrusted-text.ts'
import { matchesAny, outwardName } from './tool-name.ts'

const MAX_TITLE = 200
const MAX_DESCRIPTION = 1000
const MAX_PROMPT_NAME = 200
const MAX_ARGUMENTS = 50
const MAX_URI = 2048

/** Without invisible characters, so that names that look the same are the same. */
const plain = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => !/[\n\t]/.test(text) && !hasHidden(text))

const described = { title: z.string().optional(), description: z.string().optional() }

const wirePrompt = z.looseObject({
  name: plain(MAX_PROMPT_NAME),
  ...described,
  arguments: z
    .array(z.looseObject({ name: plain(MAX_PROMPT_NAME), ...described, required: z.boolean().optional() }))
    .max(MAX_ARGUMENTS)
    .optional(),
})

const annotations = z.looseObject({
  audience: z.array(z.enum(['user', 'assistant'])).optional(),
  priority: z.number().min(0).max(1).optional(),
  lastModified: z.string().max(64).optional(),
})

const located = {
  name: z.string(),
  ...described,
  mimeType: z.string().max(255).optional(),
  annotations: annotations.optional(),
}
const wireResource = z.looseObject({
  uri: plain(MAX_URI),
  ...located,
  size: z.number().nonnegative().optional(),
})
const wireTemplate = z.looseObject({ uriTemplate: plain(MAX_URI), ...located })

/** The lists of an upstream as received, and its capabilities. */
export interface RawOffers {
  readonly prompts: readonly unknown[]
  readonly resources: readonly unknown[]
  readonly templates: readonly unknown[]
  readonly has: { readonly prompts: boolean; readonly resources: boolean; readonly completions: boolean }
}

type Rules = Pick<UpstreamRecord, 'name' | 'tools'>

/** Whether `tools.allow` and `tools.deny` permit a call of this name. */
export function isOffered({ tools: { allow, deny } }: Rules, call: string): boolean {
  return !matchesAny(call, deny) && (allow === undefined || matchesAny(call, allow))
}

/** The prompts and resources for clients. Malformed items are omitted. */
export function offersOf(rules: Rules, raw: RawOffers): UpstreamOffers {
  const readable = isOffered(rules, READ_RESOURCE)
  const prompts = unique(
    raw.prompts.flatMap((prompt) => promptOf(rules, prompt)),
    ({ name }) => name,
  )
  const resources = readable ? raw.resources.flatMap((resource) => resourceOf(rules, resource)) : []
  const templates = readable ? raw.templates.flatMap((template) => templateOf(rules, template)) : []
  const having = (has: boolean) => (has ? [rules.name] : [])
  return {
    upstreams: [rules.name],
    prompts,
    resources: unique(resources, ({ uri }) => uri),
    templates: unique(templates, ({ uriTemplate }) => uriTemplate),
    having: {
      prompts: having(raw.has.prompts),
      resources: having(raw.has.resources && readable),
      completions: having(raw.has.completions),
    },
  }
}

function promptOf(rules: Rules, raw: unknown): UpstreamPrompt[] {
  const { success, data } = wirePrompt.safeParse(raw)
  if (!success || !isOffered(rules, promptCall(data.name))) return []
  const { name: prompt, arguments: args } = data
  return [
    {
      name: outwardName(rules.name, prompt),
      upstream: rules.name,
      prompt,
      ...textsOf(data),
      ...(args && {
        arguments: args.map(({ name, required, ...texts }) => ({
          name,
          ...textsOf(texts),
          ...(required !== undefined && { required }),
        })),
      }),
    },
  ]
}

function resourceOf({ name: upstream }: Rules, raw: unknown): UpstreamResource[] {
  const { success, data } = wireResource.safeParse(raw)
  if (!success) return []
  const { uri: own, size } = data
  const place = { uri: outwardUri(upstream, own), upstream, own }
  return [{ ...place, ...locatedOf(data), ...(size !== undefined && { size }) }]
}

function templateOf({ name: upstream }: Rules, raw: unknown): UpstreamTemplate[] {
  const { success, data } = wireTemplate.safeParse(raw)
  if (!success) return []
  const { uriTemplate: own } = data
  return [{ uriTemplate: outwardUri(upstream, own), upstream, own, ...locatedOf(data) }]
}

interface Located extends Texts {
  readonly name: string
  readonly mimeType?: string | undefined
  readonly annotations?: z.output<typeof annotations> | undefined
}

function locatedOf(data: Located) {
  const { name, mimeType, annotations: hints } = data
  return {
    name: cleanLine(name, MAX_TITLE),
    ...textsOf(data),
    ...(mimeType !== undefined && { mimeType: cleanLine(mimeType, 255) }),
    ...(hints && { annotations: hintsOf(hints) }),
  }
}

/** The hints that MCP defines. They are claims of the upstream. */
function hintsOf({ audience, priority, lastModified }: z.output<typeof annotations>): JsonObject {
  return {
    ...(audience && { audience }),
    ...(priority !== undefined && { priority }),
    ...(lastModified !== undefined && { lastModified: cleanLine(lastModified, 64) }),
  }
}

interface Texts {
  readonly title?: string | undefined
  readonly description?: string | undefined
}

function textsOf({ title, description }: Texts) {
  return {
    ...(title !== undefined && { title: cleanLine(title, MAX_TITLE) }),
    ...(description !== undefined && { description: cleanText(description, MAX_DESCRIPTION) }),
  }
}

/** Removes duplicates: the first item of each name counts. */
export function unique<Item>(items: readonly Item[], nameOf: (item: Item) => string): Item[] {
  const byName = new Map<string, Item>()
  for (const item of items) if (!byName.has(nameOf(item))) byName.set(nameOf(item), item)
  return [...byName.values()]
}

/** The offers of all upstreams, sorted. */
export function joined(names: readonly string[], all: readonly UpstreamOffers[]): UpstreamOffers {
  const having = (kind: keyof UpstreamOffers['having']) => all.flatMap((each) => each.having[kind]).sort()
  return {
    upstreams: names.toSorted(),
    prompts: sorted(
      all.flatMap(({ prompts }) => prompts),
      ({ name }) => name,
    ),
    resources: sorted(
      all.flatMap(({ resources }) => resources),
      ({ uri }) => uri,
    ),
    templates: sorted(
      all.flatMap(({ templates }) => templates),
      ({ uriTemplate }) => uriTemplate,
    ),
    having: {
      prompts: having('prompts'),
      resources: having('resources'),
      completions: having('completions'),
    },
  }
}

function sorted<Item>(items: readonly Item[], nameOf: (item: Item) => string): Item[] {
  return items.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}
