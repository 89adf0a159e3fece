import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { CliError, EXIT } from '../../exit.ts'
import { pathOf } from './policies.ts'

export const policiesRemove = command({
  name: 'policies remove',
  summary: 'Take a rule away.',
  takes: ['ID'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const shape = z.looseObject({ id: z.string(), removed: z.boolean() })
    const answer = await clientOf(input).post(`${pathOf(input.word(0))}/remove`, {}, shape)
    if (!answer.removed) {
      const hint = '"asyncgate policies list" shows those that there are.'
      throw new CliError(EXIT.notFound, `There is no rule ${answer.id}.`, hint)
    }
    output.answer(answer, () => output.say(`${answer.id} is removed`))
    return undefined
  },
})
