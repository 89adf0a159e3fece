import { DEFAULT_TENANT } from '../../../auth/credential.ts'
import { type Caller, OPERATOR } from '../../../core/principal.ts'
import type { Gate } from '../../../features/gate.ts'
import type { RuledUpstream } from '../../../features/upstreams/view.ts'
import type { OpenServer } from '../../../server/open-server.ts'
import { type Output, warn } from '../../output.ts'
import type { Companion } from '../../server-process.ts'

/** Whoever starts a server may see its upstreams. */
const CALLER: Caller = { tenant: DEFAULT_TENANT, principal: OPERATOR, role: 'admin' }

/** Says of each upstream, as soon as it was tried, how many of its tools run at once, need approval or are blocked. */
export function tellUpstreams(output: Output, { gate, upstreams }: OpenServer): Companion {
  let isStopped = false
  const tell = async (name: string) => {
    await upstreams.settled(name)
    if (isStopped || upstreams.get(name) === undefined) return
    const upstream = await gate.getUpstream(CALLER, { name })
    output.event({ event: 'upstream', name, state: upstream.health.state, ...countsOf(upstream) })
    output.say(`  ${upstreamLine(upstream)}`)
  }
  for (const { name } of upstreams.list()) {
    tell(name).catch((error: unknown) => {
      if (!isStopped) warn(`What policy makes of ${name} is not known: ${error}`)
    })
  }
  return {
    async stop() {
      isStopped = true
    },
  }
}

/** The line about one upstream, by its name. */
export async function upstreamLineOf(gate: Gate, name: string): Promise<string> {
  return upstreamLine(await gate.getUpstream(CALLER, { name }))
}

/** One upstream in one line. */
function upstreamLine(upstream: RuledUpstream): string {
  const { name, health } = upstream
  if (health.state === 'disabled') return `${name}: disabled.`
  if (health.state !== 'ready') {
    return `${name}: not connected: ${health.last_error?.message ?? 'it has not answered yet.'}`
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
