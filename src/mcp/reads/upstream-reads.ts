import {
  type CompleteResult,
  type GetPromptResult,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server'
import { callerOf } from '../../auth/caller.ts'
import { Fault } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/json/json.ts'
import type { Caller } from '../../core/principal.ts'
import { isParked } from '../../core/transitions.ts'
import type { Gate } from '../../features/gate.ts'
import { createInput } from '../../features/tasks/task-input.ts'
import { promptCall, READ_RESOURCE, splitUri, type UpstreamOffers } from '../../features/upstreams/reads.ts'
import type { Completing } from '../../features/upstreams/upstreams.ts'
import { withResolvedResult } from '../tasks/results.ts'
import { withIdentity } from '../tools/identity.ts'
import { asFault, type Call, type Era, type ReadSource } from '../tools/tool.ts'
import { clientOf } from '../transport/client-instance.ts'
import { contentsOf, failureOf, notEnded, promptOf } from './read-results.ts'

export interface UpstreamReadOptions {
  readonly gate: Gate
  /** How long a client waits for a read. */
  readonly waitSeconds: number
  /** Whether a read is canceled when the wait times out. */
  readonly cancelsAtTimeout: boolean
  /** The tool with which a model gets a result that came too late. */
  readonly waitTool: string
  readonly onError: (error: unknown) => void
}

/** A read creates a task, so it needs the same permission and the same identity. */
const CREATE = { actor: 'agent', input: createInput } as const

/** The prompts and resources of upstreams. A read is a task of the session of its client. */
export class UpstreamReads implements ReadSource {
  readonly #options: UpstreamReadOptions

  constructor(options: UpstreamReadOptions) {
    this.#options = options
  }

  capabilities(_era: Era, tenant: string) {
    const { prompts, resources, completions } = this.#options.gate.upstreamOffers(tenant).having
    return {
      ...(prompts.length > 0 && { prompts: { listChanged: true } }),
      ...(resources.length > 0 && { resources: { listChanged: true } }),
      ...(completions.length > 0 && { completions: {} }),
    }
  }

  onChange(listener: (kind: 'prompts' | 'resources') => void): () => void {
    return this.#options.gate.onUpstreamOffers(listener)
  }

  async prompts(call: Call): Promise<Prompt[]> {
    const { prompts } = this.#offers(call)
    return prompts.map(({ upstream: _, prompt, arguments: args, ...shown }) => ({
      ...shown,
      ...(args && { arguments: args.map((arg) => ({ ...arg })) }),
    }))
  }

  async resources(call: Call): Promise<Resource[]> {
    const { resources } = this.#offers(call)
    return resources.map(({ upstream: _, own, ...shown }) => ({ ...shown }))
  }

  async templates(call: Call): Promise<ResourceTemplateType[]> {
    const { templates } = this.#offers(call)
    return templates.map(({ upstream: _, own, ...shown }) => ({ ...shown }))
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    call: Call,
  ): Promise<GetPromptResult | undefined> {
    const found = await this.#promptOf(name, call)
    if (found === undefined) return undefined
    const { upstream, prompt } = found
    return promptOf(await this.#read(call, upstream, promptCall(prompt), args), upstream)
  }

  async readResource(uri: string, call: Call): Promise<ReadResourceResult | undefined> {
    const offers = this.#offers(call)
    const found = placeOf(uri, offers)
    if (found !== undefined) {
      const { upstream, own } = found
      return contentsOf(await this.#read(call, upstream, READ_RESOURCE, { uri: own }, uri), upstream)
    }
    if (offers.having.resources.length > 0) throw new ResourceNotFoundError(uri, noResource(uri))
    return undefined
  }

  #offers({ credential: { tenant } }: Call): UpstreamOffers {
    return this.#options.gate.upstreamOffers(tenant)
  }

  /** The prompt with this name for clients. The upstream refuses names that are not listed. */
  async #promptOf(
    name: string,
    call: Call,
  ): Promise<{ readonly upstream: string; readonly prompt: string } | undefined> {
    const { prompts, upstreams } = this.#offers(call)
    const listed = prompts.find((prompt) => prompt.name === name)
    if (listed !== undefined) return listed
    const at = name.indexOf('__')
    const upstream = name.slice(0, Math.max(at, 0))
    return upstreams.includes(upstream) ? { upstream, prompt: name.slice(at + 2) } : undefined
  }

  async #read(
    call: Call,
    upstream: string,
    tool: string,
    args: JsonObject,
    uri?: string,
  ): Promise<Json | undefined> {
    const { gate, waitSeconds, waitTool, cancelsAtTimeout } = this.#options
    const { caller } = callerOf(call.credential, CREATE, withIdentity({}, call), call.origin)
    const made = { upstream, tool, arguments: args }
    const { task_id } = await gate.callTool(caller, made, clientOf(call))
    const seen = await gate.waitForTask(caller, { task_id, wait_seconds: waitSeconds }, call.signal)
    if (!seen.done) {
      const isTooLate = cancelsAtTimeout && !isParked(seen.status)
      if (call.signal.aborted || isTooLate) await this.#cancel(caller, task_id)
      throw isTooLate
        ? new Fault('UPSTREAM_TIMEOUT', { upstream, task_id })
        : notEnded(seen, gate.links, waitTool)
    }
    const task = await withResolvedResult(gate, caller, seen)
    if (task.status !== 'succeeded') throw failureOf(task, call, uri)
    return task.result?.result
  }

  /** No client waits for the read, and none knows its task. */
  async #cancel(caller: Caller, task_id: string): Promise<void> {
    const { gate, onError } = this.#options
    const reason = 'The client gave up the read.'
    await gate.cancelTask(caller, { task_id, reason }).catch((error: unknown) => asFault(error, onError))
  }

  async complete({ ref, argument, others }: Completing, call: Call): Promise<CompleteResult | undefined> {
    const { gate } = this.#options
    const target = await this.#targetOf(ref, call)
    const { completions } = this.#offers(call).having
    if (target === undefined || !completions.includes(target.upstream)) return undefined
    const { caller } = callerOf(call.credential, CREATE, withIdentity({}, call), call.origin)
    const asked = { ref: target.ref, argument, others }
    const { values, ...rest } = await gate.completeArgument(caller, target.upstream, asked, call.signal)
    return { completion: { values: [...values], ...rest } }
  }

  async #targetOf(
    ref: Completing['ref'],
    call: Call,
  ): Promise<{ readonly upstream: string; readonly ref: Completing['ref'] } | undefined> {
    if (ref.type === 'ref/prompt') {
      const found = await this.#promptOf(ref.name, call)
      return found && { upstream: found.upstream, ref: { type: ref.type, name: found.prompt } }
    }
    const found = placeOf(ref.uri, this.#offers(call))
    return found && { upstream: found.upstream, ref: { type: ref.type, uri: found.own } }
  }
}

/**
 * The upstream of a resource. A URI without the name of an upstream, as tool results contain, works if it is
 * unambiguous.
 */
function placeOf(
  uri: string,
  { resources, having, upstreams }: UpstreamOffers,
): { readonly upstream: string; readonly own: string } | undefined {
  const named = splitUri(uri)
  if (named !== undefined && upstreams.includes(named.upstream)) return named
  const listed = resources.filter(({ own }) => own === uri).map(({ upstream }) => upstream)
  const [upstream, ...others] = listed.length > 0 ? listed : having.resources
  return upstream !== undefined && others.length === 0 ? { upstream, own: uri } : undefined
}

function noResource(uri: string): string {
  return `Resource not found: ${uri.slice(0, 256)}. URIs here begin with the name of an upstream and a plus, as in UPSTREAM+${uri.slice(0, 64)}.`
}
