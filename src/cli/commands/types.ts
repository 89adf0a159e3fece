import type { RegisterTaskTypeAnswer } from '../../client/operations.ts'
import { removeCommand, serverCommand } from '../client.ts'

const list = serverCommand({
  name: 'types list',
  summary: 'List the registered task types, sorted by name.',
  async run(client, _, output) {
    const task_types: RegisterTaskTypeAnswer[] = []
    let cursor: string | undefined
    do {
      const page = await client.call('listTaskTypes', { limit: 200, cursor })
      task_types.push(...page.task_types)
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    output.result({ task_types }, () =>
      output.table(
        ['TYPE', 'ENABLED', 'SCHEMA', 'TOOL', 'DESCRIPTION'],
        task_types.map(({ type, enabled, payload_schema, tool, description }) => [
          type,
          enabled ? 'yes' : 'no',
          payload_schema && 'yes',
          tool && (tool.name ?? type),
          description?.split('\n')[0],
        ]),
        'No task type is registered.',
      ),
    )
  },
})

const show = serverCommand({
  name: 'types show',
  summary: 'Show the registration of a task type.',
  takes: ['TYPE'],
  async run(client, input, output) {
    const type = await client.call('getTaskType', { type: input.arg(0) })
    output.result(type, () => {
      const { payload_schema, version, created_at, updated_at, ...rest } = type
      const lines = Object.entries(rest).map(([name, value]): [string, string | null] => [
        name,
        typeof value === 'string' || value === null ? value : JSON.stringify(value),
      ])
      const registered = `${version}, from ${updated_at}; first registered ${created_at}`
      output.details([...lines, ['version', registered]], 30)
      if (payload_schema !== null) output.print(`payload_schema\n${JSON.stringify(payload_schema, null, 2)}`)
    })
  },
})

const register = serverCommand({
  name: 'types register',
  summary:
    'Register the task types of a file, a list in YAML or JSON. Earlier registrations of these types are replaced.',
  takes: ['FILE'],
  async run(client, input, output) {
    const { readTypesFile } = await import('../../server/operator-files.ts')
    const task_types: RegisterTaskTypeAnswer[] = []
    for (const fields of await readTypesFile(input.arg(0))) {
      task_types.push(await client.call('registerTaskType', { ...fields, type: String(fields.type) }))
    }
    output.result({ task_types }, () => {
      for (const { type, version } of task_types) output.print(`${type} is registered (version ${version})`)
    })
  },
})

const remove = removeCommand({
  name: 'types remove',
  summary: 'Remove the registration of a task type. Its tasks are not changed.',
  takes: ['TYPE'],
  noun: 'task type',
  list: 'types list',
  remove: (client, type) => client.call('removeTaskType', { type }),
})

function switchCommand(verb: string, enabled: boolean, summary: string) {
  return serverCommand({
    name: `types ${verb}`,
    summary,
    takes: ['TYPE'],
    async run(client, input, output) {
      const found = await client.call('getTaskType', { type: input.arg(0) })
      const { version: _, created_at, updated_at, ...registered } = found
      const fields: Readonly<Record<string, unknown>> = registered
      const type = await client.call('registerTaskType', { ...fields, type: found.type, enabled })
      output.result(type, () => output.print(`${type.type} is ${verb}d`))
    },
  })
}

export const commands = [
  list,
  show,
  register,
  remove,
  switchCommand('enable', true, 'Accept new tasks of a type again.'),
  switchCommand('disable', false, 'Refuse new tasks of a type. Existing tasks continue.'),
]
