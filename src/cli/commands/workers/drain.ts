import { z } from 'zod'
import { CLIENT_OPTIONS, clientOf } from '../../client.ts'
import { command } from '../../command.ts'

const drainedShape = z.looseObject({ worker_id: z.string(), drain: z.boolean() })

export const workersDrain = ordering(
  'drain',
  true,
  'Tell a worker to finish what it holds and stop. It hears of it with its next answer, and gets no more tasks.',
  'is told to stop',
)
export const workersUndrain = ordering(
  'undrain',
  false,
  'Let a worker that was told to stop go on.',
  'may go on',
)

function ordering(verb: string, drain: boolean, summary: string, done: string) {
  return command({
    name: `workers ${verb}`,
    summary,
    takes: ['WORKER_ID'],
    options: CLIENT_OPTIONS,
    async run(input, output) {
      const path = `/v1/workers/${encodeURIComponent(input.word(0))}/drain`
      const answer = await clientOf(input).post(path, { drain }, drainedShape)
      output.answer(answer, () => output.say(`${answer.worker_id} ${done}`))
      return undefined
    },
  })
}
