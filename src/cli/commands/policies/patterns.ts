import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { CliError, EXIT } from '../../exit.ts'
import { patternShape } from './policies.ts'

const listShape = z.looseObject({ patterns: z.array(patternShape) })
const removedShape = z.looseObject({ name: z.string(), removed: z.boolean() })

export const patternsList = command({
  name: 'policies patterns',
  summary: 'List the redaction patterns that rules can name.',
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const answer = await clientOf(input).get('/v1/redaction-patterns', {}, listShape)
    output.answer(answer, () => {
      output.table(
        ['PATTERN', 'STATE', 'FROM', 'REPLACED BY', 'FINDS'],
        answer.patterns.map(({ name, enabled, source, replacement, description, pattern }) => [
          name,
          enabled ? 'on' : 'off',
          source,
          replacement,
          description ?? pattern,
        ]),
      )
    })
    return undefined
  },
})

export const patternsSet = command({
  name: 'policies set-pattern',
  summary: 'Write a redaction pattern, or replace it.',
  takes: ['NAME', 'PATTERN'],
  options: {
    replacement: { type: 'string', value: 'TEXT', doc: 'what stands there instead; default [REDACTED]' },
    description: { type: 'string', value: 'TEXT', doc: 'what it finds' },
    disabled: { type: 'boolean', doc: 'let it find nothing for now' },
    ...CLIENT_OPTIONS,
  },
  notes: () => 'PATTERN is a regular expression as RE2 has it: no look-arounds, no back-references.',
  async run(input, output) {
    const pattern = await clientOf(input).post(
      '/v1/redaction-patterns',
      {
        name: input.word(0),
        pattern: input.word(1),
        replacement: input.text('replacement'),
        description: input.text('description'),
        enabled: !input.flag('disabled'),
      },
      patternShape,
    )
    output.answer(pattern, () => output.say(`${pattern.name} is there; rules can name it now`))
    return undefined
  },
})

export const patternsRemove = command({
  name: 'policies remove-pattern',
  summary: 'Take a redaction pattern away that no rule names.',
  takes: ['NAME'],
  options: CLIENT_OPTIONS,
  async run(input, output) {
    const path = `/v1/redaction-patterns/${encodeURIComponent(input.word(0))}/remove`
    const answer = await clientOf(input).post(path, {}, removedShape)
    if (!answer.removed) {
      const hint = '"asyncgate policies patterns" shows those that there are.'
      throw new CliError(EXIT.notFound, `There is no redaction pattern ${answer.name}.`, hint)
    }
    output.answer(answer, () => output.say(`${answer.name} is removed`))
    return undefined
  },
})
