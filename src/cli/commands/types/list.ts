import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { allTypes, toolOf } from './types.ts'

export const typesList = command({
  name: 'types list',
  summary: 'List the registered task types, by name.',
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const task_types = await allTypes(clientOf(input))
    output.answer({ task_types }, () => {
      if (task_types.length === 0) return output.say('No task type is registered.')
      output.table(
        ['TYPE', 'ENABLED', 'SCHEMA', 'TOOL', 'DESCRIPTION'],
        task_types.map((type) => [
          type.type,
          type.enabled ? 'yes' : 'no',
          type.payload_schema === null ? '' : 'yes',
          toolOf(type),
          type.description?.split('\n')[0] ?? '',
        ]),
      )
    })
    return undefined
  },
})
