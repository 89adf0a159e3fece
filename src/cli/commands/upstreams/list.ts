import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { listShape, placeOf } from './upstreams.ts'

export const upstreamsList = command({
  name: 'upstreams list',
  summary: 'List the MCP servers behind the gate.',
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const answer = await clientOf(input).get('/v1/upstreams', {}, listShape)
    output.answer(answer, () => {
      if (answer.upstreams.length === 0) return output.say('There are no upstreams.')
      output.table(
        ['UPSTREAM', 'STATE', 'BREAKER', 'TOOLS', 'QUARANTINED', 'FROM', 'AT', 'LAST ERROR'],
        answer.upstreams.map((upstream) => [
          upstream.name,
          upstream.health.state,
          upstream.health.breaker,
          String(upstream.counts.listed),
          String(upstream.counts.quarantined),
          upstream.source,
          placeOf(upstream),
          upstream.health.state === 'ready' ? '' : (upstream.health.last_error?.message.slice(0, 120) ?? ''),
        ]),
      )
    })
    return undefined
  },
})
