import type { GetTaskTypeAnswer, RegisterTaskTypeAnswer } from '../../client/operations.ts'
import { removeCommand, serverCommand } from '../client.ts'

const list = serverCommand({
  name: 'types list',
  summary: 'List the task types that admins registered or workers publish, sorted by name.',
  async run(client, _, output) {
    const task_types: GetTaskTypeAnswer[] = []
    let cursor: string | undefined
    do {
      const page = await client.call('listTaskTypes', { limit: 200, cursor })
      task_types.push(...page.task_types)
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    output.result({ task_types }, () =>
      output.table(
        ['TYPE', 'FROM', 'WORKERS', 'USUAL', 'ENABLED', 'SCHEMA', 'TOOL', 'DESCRIPTION'],
        task_types.map((row) => [
          row.type,
          row.published_by,
          row.live_workers === null ? null : String(row.live_workers),
          row.usual_seconds === null ? null : `${row.usual_seconds} s`,
          row.enabled ? 'yes' : 'no',
          row.payload_schema && (row.conflict ? 'conflict' : 'yes'),
          row.tool && (row.tool.name ?? row.type),
          row.description?.split('\n')[0],
        ]),
        'No task type is registered or published.',
      ),
    )
  },
})

const show = serverCommand({
  name: 'types show',
  summary: 'Show a task type: its schemas, defaults and limits.',
  takes: ['TYPE'],
  async run(client, input, output) {
    const type = await client.call('getTaskType', { type: input.arg(0) })
    output.result(type, () => {
      const { payload_schema, output_schema, version, created_at, updated_at, ...rest } = type
      const lines = Object.entries(rest).map(([name, value]): [string, string | null] => [
        name,
        typeof value === 'string' || value === null ? value : JSON.stringify(value),
      ])
      const registered = `${version}, from ${updated_at}; since ${created_at}`
      output.details([...lines, ['version', registered]], 30)
      for (const [name, schema] of Object.entries({ payload_schema, output_schema })) {
        if (schema !== null) output.print(`${name}\n${JSON.stringify(schema, null, 2)}`)
      }
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
      const {
        version: _,
        created_at,
        updated_at,
        published_by,
        conflict,
        live_workers,
        usual_seconds,
        ...kept
      } = found
      const fields: Readonly<Record<string, unknown>> = kept
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
