import { outcomeWords } from '../../../features/upstreams/upstreams.ts'
import { commandWarning } from '../../../server/key-exposure.ts'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { detailShape, pathOf, tellUpstream } from './upstreams.ts'

export const upstreamsShow = command({
  name: 'upstreams show',
  summary: 'Show an MCP server behind the gate: how it is, its tools, and what policy makes of each.',
  takes: ['NAME'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const upstream = await clientOf(input).get(pathOf(input.word(0)), {}, detailShape)
    output.answer(upstream, () => {
      tellUpstream(output, upstream)
      if (upstream.catalogue.length === 0) return
      output.say()
      output.table(
        ['TOOL', 'STATE', 'NAME', 'CATEGORY', 'CALLS', 'WHY'],
        upstream.catalogue.map(({ tool, status, name, category, reason, policy }) => [
          tool,
          status,
          name,
          category ?? '',
          policy ? outcomeWords(policy) : '',
          reason ?? policy?.reason ?? '',
        ]),
      )
      const warning = commandWarning(upstream)
      if (warning !== undefined) output.say(`\n${warning}`)
    })
    return undefined
  },
})
