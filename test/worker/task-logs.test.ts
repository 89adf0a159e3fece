import { describe, expect, it } from 'vitest'
import { type TaskContext, task } from '../../src/worker/index.ts'
import { agent } from '../support/gates.ts'
import { Deferred, eventually, workerBench } from './support.ts'

const LOGS = /^\/v1\/tasks\/[^/]+\/logs$/

describe('ctx.log', () => {
  const start = workerBench()
  type Bench = Awaited<ReturnType<typeof start>>
  const linesOf = async ({ gate }: Bench, task_id: string) =>
    (await gate.listLogs(agent(), { task_id, limit: 200 })).lines

  it('all lines are stored with the task, including the last ones and those of a failed handler', async () => {
    const bench = await start()
    const run = (_: unknown, { log }: TaskContext) => {
      log.info('begun', { page: 1 })
      log.debug('only here')
      log.error('it broke', { error: Object.assign(new Error('no luck'), { code: 'E1' }) })
      throw new Error('no luck')
    }
    bench.start([task('job', { run })])
    const task_id = await bench.ask('job', {}, { max_attempts: 1 })
    await bench.end(task_id)
    expect(await linesOf(bench, task_id)).toMatchObject([
      { level: 'info', text: 'begun', context: { page: 1 } },
      {
        level: 'error',
        text: 'it broke',
        context: { error: { name: 'Error', message: 'no luck', code: 'E1' } },
      },
    ])
    expect(JSON.stringify(await linesOf(bench, task_id))).not.toContain('worker-task-logs')
  })

  it('lines are sent in batches while the task runs', async () => {
    const bench = await start()
    const mayEnd = new Deferred()
    const run = async (_: unknown, { log }: TaskContext) => {
      for (let n = 0; n < 50; n++) log.info(`line ${n}`)
      await mayEnd.promise
    }
    bench.start([task('job', { run })])
    const task_id = await bench.ask('job')
    await eventually(async () => (await linesOf(bench, task_id)).length === 50)
    expect(bench.network.to(LOGS)).toHaveLength(1)
    mayEnd.resolve()
    await bench.end(task_id)
  })

  it('lines beyond the buffer are dropped, and their number is reported', async () => {
    const bench = await start()
    const run = (_: unknown, { log }: TaskContext) => {
      for (let n = 0; n < 1_500; n++) log.info(`line ${n}`)
    }
    bench.start([task('job', { run })])
    const task_id = await bench.ask('job')
    await bench.end(task_id)
    const texts: string[] = []
    let cursor: string | undefined
    do {
      const page = await bench.gate.listLogs(agent(), { task_id, limit: 200, ...(cursor && { cursor }) })
      texts.push(...page.lines.map((line) => line.text))
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    expect(texts).toHaveLength(1_001)
    expect(texts.at(-1)).toContain('500 lines were dropped')
  })

  it.each([
    ['are not JSON', { big: 10n }],
    ['refer to themselves', loop()],
    ['are very large', { text: 'x'.repeat(100_000) }],
    ['the server refuses', { text: 'a\0b', 'lone \ud800': 1 }],
  ])('a line whose fields %s is still sent', async (_, fields) => {
    const bench = await start()
    const run = (_input: unknown, { log }: TaskContext) => log.info('here', fields)
    bench.start([task('job', { run })])
    const task_id = await bench.ask('job')
    await bench.end(task_id)
    expect(await linesOf(bench, task_id)).toMatchObject([{ text: 'here' }])
  })

  it('lines that the server refuses neither throw in the handler nor delay the end of the task', async () => {
    const bench = await start()
    const stop = bench.network.cut(LOGS)
    const run = (_: unknown, { log }: TaskContext) => {
      log.info('lost')
      return 'done'
    }
    bench.start([task('job', { run })])
    const task_id = await bench.ask('job')
    await bench.end(task_id)
    expect((await bench.gate.getTask(agent(), { task_id })).status).toBe('succeeded')
    stop()
  })

  it('sendLogs false sends nothing', async () => {
    const bench = await start()
    const run = (_: unknown, { log }: TaskContext) => log.info('only here')
    bench.start([task('job', { run })], { sendLogs: false })
    const task_id = await bench.ask('job')
    await bench.end(task_id)
    expect(await linesOf(bench, task_id)).toEqual([])
    expect(bench.network.to(LOGS)).toEqual([])
  })
})

function loop(): object {
  const fields: Record<string, unknown> = {}
  fields.self = fields
  return fields
}
