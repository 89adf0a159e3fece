import { z } from 'zod'
import { visibleText } from '../../../util/untrusted-text.ts'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'
import { CliError, EXIT } from '../../exit.ts'
import { readPayload } from './create.ts'
import { taskShape } from './tasks.ts'

const askingShape = taskShape.extend({
  question: z
    .looseObject({
      n: z.number(),
      kind: z.string(),
      request: z.looseObject({ message: z.string().optional(), schema: z.unknown().optional() }),
    })
    .nullable(),
})

const decidedShape = z.looseObject({ state: z.string(), status: z.string() })

export const tasksAnswer = command({
  name: 'tasks answer',
  summary: 'Give a task the input that it waits for; without an answer, show what it asks.',
  takes: ['TASK_ID', '[JSON]'],
  options: CLIENT_OPTIONS,
  notes: () => '@FILE reads the answer from a file, - from standard input.',
  async run(input, output) {
    const client = clientOf(input)
    const path = `/v1/tasks/${encodeURIComponent(input.word(0))}`
    const [, given] = input.words
    const { question, status } = await client.get(path, {}, askingShape)
    if (question === null || question.kind !== 'input') {
      throw new CliError(
        EXIT.failure,
        `The task asks for no input: it is ${status}.`,
        status === 'pending_approval' ? 'Use "asyncgate approvals approve" or "deny".' : undefined,
      )
    }
    if (given === undefined) {
      const { message = '', schema } = question.request
      const { option } = await client.target()
      output.answer(question, () => {
        output.say(visibleText(message))
        if (schema !== undefined) output.say(`\nThe answer must fit\n${JSON.stringify(schema, null, 2)}`)
        output.say(`\nasyncgate tasks answer ${input.word(0)} JSON${option}`)
      })
      return undefined
    }
    const content = readPayload(given)
    const decided = await client.post(`${path}/answer`, { n: question.n, content }, decidedShape)
    output.answer(decided, () => output.say(`Answered. The task is ${decided.status} and goes on.`))
    return undefined
  },
})
