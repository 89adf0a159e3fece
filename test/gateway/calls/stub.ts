import type { CallToolResult } from '@modelcontextprotocol/client'
import { Fault } from '../../../src/core/errors.ts'
import type { JsonObject } from '../../../src/core/json/json.ts'
import { NO_OFFERS } from '../../../src/features/upstreams/reads.ts'
import type { RetryMode } from '../../../src/features/upstreams/shape.ts'
import type { UpstreamRegistry, UpstreamTool } from '../../../src/features/upstreams/upstreams.ts'
import type { CallOptions } from '../../../src/gateway/upstreams/call-options.ts'
import type { InputRequired } from '../../../src/gateway/upstreams/elicitation.ts'
import { mayRepeat } from '../../../src/gateway/upstreams/tool-name.ts'
import type { Store } from '../../../src/store/store.ts'

export type Run = (args: JsonObject, options: CallOptions) => Promise<CallToolResult | InputRequired>

export interface StubTool {
  readonly run: Run
  readonly annotations?: JsonObject
  readonly outputSchema?: JsonObject
  /** Whether its calls are never sent because they wait for a permit. */
  readonly waits?: boolean
}

/** An upstream called `stub` whose tools are functions of the test. */
export class StubUpstreams implements UpstreamRegistry {
  readonly tenant: number
  /** Calls in progress. */
  running = 0
  most = 0
  calls = 0
  retry: RetryMode = 'idempotent'
  timeout = 300_000
  readonly #tools: Map<string, StubTool>
  readonly #listeners = new Set<() => void>()
  #listed: readonly UpstreamTool[]

  constructor(tenant: number, tools: Readonly<Record<string, StubTool>>) {
    this.tenant = tenant
    this.#tools = new Map(Object.entries(tools))
    this.#listed = this.#list()
  }

  static async on(store: Store, tools: Readonly<Record<string, StubTool>>): Promise<StubUpstreams> {
    return new StubUpstreams((await store.tenant('default')).tenant, tools)
  }

  async call(
    upstream: string,
    tool: string,
    args: JsonObject,
    options: CallOptions,
  ): Promise<CallToolResult | InputRequired> {
    options.signal?.throwIfAborted()
    this.offered(upstream, tool)
    if (options.mayHaveRun && !this.mayRepeat(upstream, tool)) {
      throw new Fault('UPSTREAM_OUTCOME_UNKNOWN', { upstream, tool })
    }
    if (!this.#tool(tool).waits) options.onSend?.()
    this.calls += 1
    this.running += 1
    this.most = Math.max(this.most, this.running)
    try {
      return await this.#tool(tool).run(args, options)
    } finally {
      this.running -= 1
    }
  }

  offered(upstream: string, tool: string): UpstreamTool {
    if (upstream !== 'stub') throw new Fault('UPSTREAM_NOT_FOUND', { name: upstream })
    if (tool === 'changed') throw new Fault('UPSTREAM_TOOL_QUARANTINED', { upstream, tool })
    this.#tool(tool)
    const found = this.#listed.find((each) => each.tool === tool)
    if (found === undefined) throw new Error(`${tool} is not listed`)
    return found
  }

  mayRepeat(_upstream: string, tool: string): boolean {
    return mayRepeat(
      { retry: this.retry, tools: { deny: [], retry: {} } },
      tool,
      this.#tools.get(tool)?.annotations,
    )
  }

  timeoutMs(): number {
    return this.timeout
  }

  endSession(): void {}

  /** Adds, replaces or removes a tool. */
  set(name: string, tool: StubTool | undefined): void {
    if (tool === undefined) this.#tools.delete(name)
    else this.#tools.set(name, tool)
    this.#listed = this.#list()
    for (const listener of this.#listeners) listener()
  }

  tools(): readonly UpstreamTool[] {
    return this.#listed
  }

  find(name: string): UpstreamTool | undefined {
    return this.#listed.find((tool) => tool.name === name)
  }

  absence(name: string): Fault | undefined {
    return name === 'stub__changed'
      ? new Fault('UPSTREAM_TOOL_QUARANTINED', { upstream: 'stub', tool: 'changed' })
      : undefined
  }

  offers() {
    return NO_OFFERS
  }

  onOffers() {
    return () => {}
  }

  async complete(): Promise<never> {
    throw new Fault('NOT_CONFIGURED')
  }

  onTools(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  list() {
    return []
  }

  get() {
    return undefined
  }

  async add(): Promise<never> {
    throw new Fault('NOT_CONFIGURED')
  }

  async remove(): Promise<never> {
    throw new Fault('NOT_CONFIGURED')
  }

  async accept(): Promise<never> {
    throw new Fault('NOT_CONFIGURED')
  }

  #tool(name: string): StubTool {
    const tool = this.#tools.get(name)
    if (tool === undefined) throw new Fault('UPSTREAM_TOOL_NOT_FOUND', { upstream: 'stub', tool: name })
    return tool
  }

  #list(): readonly UpstreamTool[] {
    return [...this.#tools].map(([tool, { annotations, outputSchema }]) => ({
      name: `stub__${tool}`,
      upstream: 'stub',
      tool,
      category: null,
      hash: '0'.repeat(64),
      description: `Does ${tool}.`,
      inputSchema: { type: 'object', properties: {} },
      ...(annotations && { annotations }),
      ...(outputSchema && { outputSchema }),
    }))
  }
}

export const says = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

/** Returns its arguments as text. */
export const echo: StubTool = { run: async (args) => says(JSON.stringify(args)) }

/** A tool whose calls end when the test lets them. */
export function held() {
  const waiting: (() => void)[] = []
  const aborted: unknown[] = []
  const tool: StubTool = {
    run: (_, { signal }) =>
      new Promise((resolve, reject) => {
        waiting.push(() => resolve(says('done')))
        signal?.addEventListener('abort', () => {
          aborted.push(signal.reason)
          reject(signal.reason)
        })
      }),
  }
  return {
    tool,
    waiting,
    aborted,
    /** Lets the oldest n calls continue. */
    let(count: number) {
      for (const go of waiting.splice(0, count)) go()
    },
  }
}
