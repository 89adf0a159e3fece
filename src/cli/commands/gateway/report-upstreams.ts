import { type Caller, DEFAULT_TENANT, OPERATOR } from '../../../core/principal.ts'
import type { Gate } from '../../../features/gate.ts'
import type { RuledUpstream } from '../../../features/upstreams/upstreams.ts'
import type { Upstreams } from '../../../gateway/upstreams/upstreams.ts'
import { shownName } from '../../../server/gateway.ts'
import type { OpenServer } from '../../../server/open-server.ts'
import { type Output, warn } from '../../output.ts'
import type { Companion } from '../../server-process.ts'

/** Starting a server implies the permission to see its upstreams. */
const callerIn = (tenant: string): Caller => ({ tenant, principal: OPERATOR, role: 'admin' })

/** Prints for each upstream, once it was tried, how many of its tools are allowed, need approval or are blocked. */
export function reportUpstreams(output: Output, { gate, upstreams }: OpenServer): Companion {
  let isStopped = false
  const report = async (tenant: string, registry: Upstreams, name: string) => {
    await registry.settled(name)
    if (isStopped || registry.get(name) === undefined) return
    const upstream = await gate.getUpstream(callerIn(tenant), { name })
    output.event({
      event: 'upstream',
      ...(tenant !== DEFAULT_TENANT && { tenant }),
      name,
      state: upstream.health.state,
      ...countsOf(upstream),
    })
    output.print(`  ${upstreamLine(upstream, shownName(tenant, name))}`)
  }
  for (const { tenant, upstreams: registry } of upstreams.all) {
    for (const { name } of registry.list()) {
      report(tenant.name, registry, name).catch((error: unknown) => {
        if (isStopped) return
        const shown = shownName(tenant.name, name)
        warn(`The policy for the tools of ${shown} could not be determined: ${error}`)
      })
    }
  }
  return {
    async stop() {
      isStopped = true
    },
  }
}

/** The summary line of one upstream of the default tenant. */
export async function upstreamLineOf(gate: Gate, name: string): Promise<string> {
  return upstreamLine(await gate.getUpstream(callerIn(DEFAULT_TENANT), { name }), name)
}

function upstreamLine(upstream: RuledUpstream, name: string): string {
  const { health } = upstream
  if (health.state === 'disabled') return `${name}: disabled.`
  if (health.state !== 'ready') {
    return `${name}: not connected: ${health.last_error?.message ?? 'it has not responded yet.'}`
  }
  const { tools, allowed, needs_approval, blocked, depends, quarantined } = countsOf(upstream)
  const more = [
    depends > 0 && `${depends} ${depends === 1 ? 'depends' : 'depend'} on the call`,
    quarantined > 0 && `${quarantined} quarantined`,
  ]
  const counts = [
    `${allowed} ${allowed === 1 ? 'runs' : 'run'} at once`,
    `${needs_approval} ${needs_approval === 1 ? 'needs' : 'need'} approval`,
    `${blocked} blocked`,
    ...more.filter((part) => part !== false),
  ]
  return `${name}: ${tools} ${tools === 1 ? 'tool' : 'tools'}. ${counts.join(', ')}.`
}

function countsOf({ catalogue, counts }: RuledUpstream) {
  const listed = catalogue.filter(({ status }) => status === 'listed')
  const count = (outcome: string) => listed.filter(({ policy }) => policy?.outcome === outcome).length
  return {
    tools: listed.length,
    allowed: count('allowed'),
    needs_approval: count('needs_approval'),
    blocked: count('blocked'),
    depends: count('depends'),
    quarantined: counts.quarantined,
  }
}
