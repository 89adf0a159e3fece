import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { pathOf, policyShape, tellPolicy } from './policies.ts'

export const policiesShow = command({
  name: 'policies show',
  summary: 'Show a rule.',
  takes: ['ID'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const policy = await clientOf(input).get(pathOf(input.word(0)), {}, policyShape)
    output.answer(policy, () => tellPolicy(output, policy))
    return undefined
  },
})
