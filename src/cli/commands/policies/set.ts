import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { usageError } from '../../exit.ts'
import { policyShape, tellPolicy } from './policies.ts'

export const policiesSet = command({
  name: 'policies set',
  summary: 'Write a rule, or replace it.',
  takes: ['ID', 'ACTION'],
  options: {
    upstream: { type: 'string', value: 'NAME', doc: 'only for tools of this upstream; * is any text' },
    tool: { type: 'string', value: 'NAME', doc: 'only for this tool, as the upstream calls it' },
    category: { type: 'string', value: 'NAME', doc: 'only for tools of this category' },
    type: { type: 'string', value: 'TYPE', doc: 'only for tasks of this type' },
    principal: { type: 'string', value: 'KIND:ID', doc: 'only for this principal, or the agent of this id' },
    when: {
      type: 'string',
      value: 'JSON',
      doc: 'the condition, as in \'{">": [{"var": "args.amount"}, 100]}\'',
    },
    priority: { type: 'string', value: 'N', doc: 'higher ones are asked first; default 0' },
    redact: { type: 'string', value: 'WHAT', doc: 'for REDACT: args, result or both' },
    path: {
      type: 'string',
      multiple: true,
      value: 'PATH',
      doc: 'what to take out, as in $.card',
    },
    pattern: { type: 'string', multiple: true, value: 'NAME', doc: 'a redaction pattern' },
    'approval-expires': { type: 'string', value: 'SECONDS', doc: 'for REQUIRE_APPROVAL: how long it waits' },
    approves: {
      type: 'string',
      value: 'ID',
      doc: 'for ALLOW: only stand in where this rule, or *, asks for approval',
    },
    until: { type: 'string', value: 'TIME', doc: 'when the rule expires, as in 2026-12-31T17:00:00Z' },
    description: { type: 'string', value: 'TEXT', doc: 'what it is for; whoever is blocked reads it' },
    disabled: { type: 'boolean', doc: 'write it, but do not use it for now' },
    ...CLIENT_OPTIONS,
  },
  notes: () =>
    'ACTION is ALLOW, BLOCK, REDACT or REQUIRE_APPROVAL. Try a rule with "asyncgate policies test".',
  async run(input, output) {
    const targets = input.text('redact')
    const [paths, patterns] = [input.texts('path'), input.texts('pattern')]
    if (targets === undefined && paths.length + patterns.length > 0) {
      throw input.wrong('--path and --pattern need --redact args, result or both.')
    }
    const policy = await clientOf(input).post(
      '/v1/policies',
      {
        id: input.word(0),
        action: input.word(1).toUpperCase().replaceAll('-', '_'),
        description: input.text('description'),
        scope: {
          upstream: input.text('upstream'),
          tool: input.text('tool'),
          category: input.text('category'),
          type: input.text('type'),
          principal: input.text('principal'),
        },
        condition: conditionOf(input.text('when')),
        redact: targets === undefined ? undefined : { targets, paths, patterns },
        approves: input.text('approves'),
        approval_expires_in_seconds: input.whole('approval-expires'),
        priority: input.whole('priority'),
        enabled: !input.flag('disabled'),
        expires_at: input.text('until'),
      },
      policyShape,
    )
    output.answer(policy, () => tellPolicy(output, policy))
    return undefined
  },
})

function conditionOf(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(
      '--when takes JSON.',
      'Put it in single quotes: --when \'{"==": [{"var": "args.to"}, "x"]}\'.',
    )
  }
}
