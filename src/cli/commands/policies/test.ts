import { z } from 'zod'
import { readPoliciesFile } from '../../../server/operator-files.ts'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'

const testedShape = z.looseObject({
  action: z.string(),
  rule_id: z.string().nullable(),
  reason: z.string(),
  args: z.unknown(),
  redacted_fields: z.array(z.string()),
  redacts_result: z.boolean(),
  considered: z.array(z.looseObject({ id: z.string(), applied: z.boolean(), why: z.string() })),
})

export const policiesTest = command({
  name: 'policies test',
  summary: 'Tell what the rules would say about a task or a call of a tool. Nothing is done.',
  options: {
    type: { type: 'string', value: 'TYPE', doc: 'the type of the task; mcp.tool_call if --tool is given' },
    upstream: { type: 'string', value: 'NAME', doc: 'the upstream of the tool' },
    tool: { type: 'string', value: 'NAME', doc: 'the tool, as the upstream calls it' },
    category: { type: 'string', value: 'NAME', doc: 'its category, if not the one that it has' },
    principal: { type: 'string', value: 'KIND:ID', doc: 'who asks; default: you' },
    agent: { type: 'string', value: 'ID', doc: 'on whose behalf' },
    session: { type: 'string', value: 'ID', doc: 'the session' },
    args: { type: 'string', value: 'JSON', doc: 'the payload, or the arguments of the tool' },
    inputs: { type: 'string', value: 'JSON', doc: 'the inputs of the task' },
    body: { type: 'string', value: 'TEXT', doc: 'the body of the task' },
    'payload-pointer': { type: 'string', value: 'URI', doc: 'where the payload of the task is' },
    requirements: {
      type: 'string',
      value: 'JSON',
      doc: 'what the task requires, as in \'{"tags": ["prod"]}\'',
    },
    rules: {
      type: 'string',
      value: 'FILE',
      doc: 'try the rules and patterns of this file instead of the rules of the server',
    },
    ...CLIENT_OPTIONS,
  },
  async run(input, output) {
    const file = input.text('rules')
    const written = file === undefined ? undefined : await readPoliciesFile(file)
    const tested = await clientOf(input).post(
      '/v1/policies/test',
      {
        context: {
          type: input.text('type'),
          upstream: input.text('upstream'),
          tool: input.text('tool'),
          category: input.text('category'),
          principal: input.text('principal'),
          agent: input.text('agent'),
          session: input.text('session'),
          args: jsonOf('args', input.text('args'), input),
          inputs: jsonOf('inputs', input.text('inputs'), input),
          body: input.text('body'),
          payload_pointer: input.text('payload-pointer'),
          requirements: jsonOf('requirements', input.text('requirements'), input),
        },
        rules: written?.rules,
        patterns: written?.patterns,
      },
      testedShape,
    )
    output.answer(tested, () => {
      output.say(`${tested.action}: ${tested.reason}`)
      if (tested.redacted_fields.length > 0) {
        output.say(`redacted   ${tested.redacted_fields.join(', ')}`)
        output.say(`args       ${JSON.stringify(tested.args)}`)
      }
      if (tested.redacts_result) output.say('The result would be redacted, too.')
      if (tested.considered.length === 0) return
      output.say()
      output.table(
        ['RULE', 'APPLIED', 'WHY'],
        tested.considered.map(({ id, applied, why }) => [id, applied ? 'yes' : 'no', why]),
      )
    })
    return undefined
  },
})

function jsonOf(name: string, text: string | undefined, input: { wrong(message: string): Error }): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw input.wrong(`--${name} takes JSON.`)
  }
}
