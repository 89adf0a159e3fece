import { describe, expect, it } from 'vitest'
import { toolArguments } from '../../../src/mcp/tools/task-tools.ts'

describe('arguments of task tools', () => {
  it('the schema is listed unchanged', () => {
    const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
    expect(toolArguments(schema).schema).toEqual(schema)
    expect(toolArguments({}).schema).toEqual({ type: 'object', properties: {} })
  })

  it.each(['auth_token', 'agent_id', 'principal_id', 'principal_kind', 'principal_instance_id'])(
    'the identity argument %s is never passed to the task',
    (name) => {
      const { split } = toolArguments({ properties: { [name]: {}, other: {} } })
      expect(split({ [name]: 'ours', [`arg_${name}`]: 'theirs', other: 1 })).toEqual({
        identity: { [name]: 'ours' },
        rest: { [name]: 'theirs', other: 1 },
      })
    },
  )

  it('a field that does not identify the caller keeps its name', () => {
    const { split } = toolArguments({ properties: { tenant_id: {} } })
    expect(split({ tenant_id: 'contoso' })).toEqual({ identity: {}, rest: { tenant_id: 'contoso' } })
  })

  it('a renamed field gets a free name', () => {
    const { schema, split } = toolArguments({ properties: { agent_id: {}, arg_agent_id: {} } })
    expect(Object.keys(Object(schema.properties))).toEqual(['arg_arg_agent_id', 'arg_agent_id'])
    expect(split({ arg_agent_id: 1, arg_arg_agent_id: 2 }).rest).toEqual({ arg_agent_id: 1, agent_id: 2 })
  })
})
