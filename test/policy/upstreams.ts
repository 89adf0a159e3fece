import { Fault } from '../../src/core/errors.ts'
import { NO_OFFERS } from '../../src/features/upstreams/reads.ts'
import type { UpstreamRegistry, UpstreamTool } from '../../src/features/upstreams/upstreams.ts'
import type { Store } from '../../src/store/store.ts'

/** An upstream registry that offers these tools with their categories and supports nothing else. */
export function offering(tools: Record<string, string | null>, upstream = 'mail') {
  return async (store: Store): Promise<UpstreamRegistry> => {
    const { tenant } = await store.tenant('default')
    const offered = Object.entries(tools).map(
      ([tool, category]): UpstreamTool => ({
        name: `${upstream}__${tool}`,
        upstream,
        tool,
        category,
        hash: '',
        description: tool,
        inputSchema: { type: 'object' },
      }),
    )
    const refuse = () => Promise.reject(new Error('not here'))
    return {
      tenant,
      list: () => [],
      get: () => undefined,
      add: refuse,
      remove: refuse,
      accept: refuse,
      tools: () => offered,
      find: (name) => offered.find((tool) => tool.name === name),
      offered(name, tool) {
        const found = offered.find((each) => each.upstream === name && each.tool === tool)
        if (found === undefined) throw new Fault('UPSTREAM_TOOL_NOT_FOUND', { name, tool })
        return found
      },
      absence: () => undefined,
      offers: () => NO_OFFERS,
      onOffers: () => () => {},
      complete: refuse,
      onTools: () => () => {},
    }
  }
}
