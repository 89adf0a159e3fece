import { type Caller, DEFAULT_TENANT, OPERATOR } from '../../../core/principal.ts'
import type { Gate } from '../../../features/gate.ts'
import type { RuledUpstream } from '../../../features/upstreams/upstreams.ts'
import type { OpenServer } from '../../../server/open-server.ts'
import { type Output, warn } from '../../output.ts'
import type { Companion } from '../../server-process.ts'

/** Starting a server implies the permission to see its upstreams. */
const CALLER: Caller = { tenant: DEFAULT_TENANT, principal: OPERATOR, role: 'admin' }

/** Prints for each upstream, once it was tried, how many of its tools are allowed, need approval or are blocked. */
export function reportUpstreams(output: Output, { gate, upstreams }: OpenServer): Companion {
  let isStopped = false
  const report = async (name: string) => {
    await upstreams.settled(name)
    if (isStopped || upstreams.get(name) === undefined) return
    const upstream = await gate.getUpstream(CALLER, { name })
    output.event({ event: 'upstream', name, state: upstream.health.state, ...countsOf(upstream) })
    output.print(`  ${upstreamLine(upstream)}`)
  }
  for (const { name } of upstreams.list()) {
    report(name).catch((error: unknown) => {
      if (!isStopped) warn(`The policy for the tools of ${name} could not be determined: ${error}`)
    })
  }
  return {
    async stop() {
      isStopped = true
    },
  }
}

/** The summary line of one upstream. */
export async function upstreamLineOf(gate: Gate, name: string): Promise<string> {
  return upstreamLine(await gate.getUpstream(CALLER, { name }))
}

function upstreamLine(upstream: RuledUpstream): string {
  const { name, health } = upstream
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
