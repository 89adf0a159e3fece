import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { CliError, EXIT } from '../../exit.ts'
import { pathOf } from './upstreams.ts'

const removedShape = z.looseObject({ name: z.string(), removed: z.boolean() })

export const upstreamsRemove = command({
  name: 'upstreams remove',
  summary: 'Take an MCP server away, with its tools and all that was accepted of them.',
  takes: ['NAME'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const answer = await clientOf(input).post(`${pathOf(input.word(0))}/remove`, {}, removedShape)
    if (!answer.removed) {
      const hint = '"asyncgate upstreams list" shows those that there are.'
      throw new CliError(EXIT.notFound, `There is no upstream ${answer.name}.`, hint)
    }
    output.answer(answer, () => output.say(`${answer.name} is removed`))
    return undefined
  },
})
