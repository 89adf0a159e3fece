import { readTypesFile } from '../../../server/operator-files.ts'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { type TaskType, typeShape } from './types.ts'

export const typesRegister = command({
  name: 'types register',
  summary:
    'Register the task types of a file, a list in YAML or JSON. What was registered before is replaced.',
  takes: ['FILE'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const client = clientOf(input)
    const registered: TaskType[] = []
    for (const type of await readTypesFile(input.word(0))) {
      registered.push(await client.post('/v1/task-types', type, typeShape))
    }
    output.answer({ task_types: registered }, () => {
      for (const { type, version } of registered) output.say(`${type} is registered (version ${version})`)
    })
    return undefined
  },
})
