import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { policiesShape, scopeOf, stateOf } from './policies.ts'

export const policiesList = command({
  name: 'policies list',
  summary: 'List the rules in the order in which they are asked, and what is done where none decides.',
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const answer = await clientOf(input).get('/v1/policies', {}, policiesShape)
    output.answer(answer, () => {
      const { policies, defaults } = answer
      if (policies.length > 0) {
        output.table(
          ['RULE', 'PRIORITY', 'ACTION', 'FOR', 'CONDITION', 'STATE', 'FROM'],
          policies.map((policy) => [
            policy.id,
            String(policy.priority),
            policy.action,
            scopeOf(policy),
            policy.condition === null ? '' : JSON.stringify(policy.condition).slice(0, 60),
            stateOf(policy),
            policy.source,
          ]),
        )
        output.say()
      }
      output.say(`Otherwise: tasks ${defaults.plain}, calls of upstream tools ${defaults.upstream}`)
    })
    return undefined
  },
})
