import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { CliError, EXIT } from '../../exit.ts'
import { pathOf, typeShape } from './types.ts'

export const typesRemove = command({
  name: 'types remove',
  summary: 'Forget what was registered about a task type. Its tasks stay as they are.',
  takes: ['TYPE'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const path = `${pathOf(input.word(0))}/remove`
    const answer = await clientOf(input).post(
      path,
      {},
      z.looseObject({ type: z.string(), removed: z.boolean() }),
    )
    if (!answer.removed) {
      const hint = '"asyncgate types list" shows those that are registered.'
      throw new CliError(EXIT.notFound, `There is no task type ${answer.type}.`, hint)
    }
    output.answer(answer, () => output.say(`${answer.type} is removed`))
    return undefined
  },
})

export const typesEnable = switching('enable', true, 'Take tasks of a type again.')
export const typesDisable = switching(
  'disable',
  false,
  'Refuse new tasks of a type. Those that are there go on.',
)

function switching(verb: string, enabled: boolean, summary: string) {
  return command({
    name: `types ${verb}`,
    summary,
    takes: ['TYPE'],
    options: CLIENT_OPTIONS,
    async run(input, output) {
      const client = clientOf(input)
      const found = await client.get(pathOf(input.word(0)), {}, typeShape)
      const { version: _, created_at, updated_at, ...registered } = found
      const type = await client.post('/v1/task-types', { ...registered, enabled }, typeShape)
      output.answer(type, () => output.say(`${type.type} is ${verb}d`))
      return undefined
    },
  })
}
