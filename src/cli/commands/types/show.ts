import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { pathOf, tellType, typeShape } from './types.ts'

export const typesShow = command({
  name: 'types show',
  summary: 'Show all that is registered about a task type.',
  takes: ['TYPE'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const type = await clientOf(input).get(pathOf(input.word(0)), {}, typeShape)
    output.answer(type, () => tellType(output, type))
    return undefined
  },
})
