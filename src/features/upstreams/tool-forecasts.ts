import type { Forecast } from '../../policy/forecast.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Services } from '../services.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { RuledUpstream, UpstreamDetail } from './shape.ts'

/** An upstream, with what the rules make of calls of each of its tools, whoever calls. */
export async function ruledUpstream(
  { policies }: Services,
  tenant: TenantRef,
  upstream: UpstreamDetail,
): Promise<RuledUpstream> {
  const book = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
  const about = { type: TOOL_CALL, tenant: tenant.name, upstream: upstream.name }
  const catalogue = upstream.catalogue.map((entry) => {
    const { tool, category, status } = entry
    const policy = status === 'hidden' ? null : book.forecast({ ...about, tool, category })
    return { ...entry, policy }
  })
  return { ...upstream, catalogue }
}

/** A forecast in a few words. */
export function outcomeWords({ outcome, depends_on }: Pick<Forecast, 'outcome' | 'depends_on'>): string {
  if (outcome !== 'depends') return outcome.replaceAll('_', ' ')
  const words = depends_on.map((each) => `the ${each}`)
  return `depends on ${words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`}`
}
