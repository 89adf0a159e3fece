import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { task } from '../../src/worker/index.ts'
import { KEY, openTestGate, type TestGate, work } from '../reference-workers/support.ts'
import { cli } from './support.ts'

let gate: TestGate
beforeAll(async () => {
  gate = await openTestGate()
})
afterAll(() => gate.close())

const logs = (id: string, ...options: string[]) =>
  cli(['tasks', 'logs', id, ...options, '--url', gate.url, '--key', KEY])

const texts = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').slice(1).join(' ').trim())

describe('asyncgate tasks logs', () => {
  it('--follow prints every line until the task has ended, across pages', async () => {
    let finish = () => {}
    const told = new Promise<void>((resolve) => {
      finish = resolve
    })
    const chatty = task('chatty', {
      async run(_, ctx) {
        for (let i = 1; i <= 250; i++) ctx.log.info(`early ${i}`)
        await told
        ctx.log.warn('late', { last: true })
      },
    })
    work(gate, [chatty])
    const { id } = await gate.agent.submit('chatty')
    const following = logs(id, '--follow')
    await expect
      .poll(async () => (await gate.agent.listLogs({ task_id: id, limit: 200 })).lines.length)
      .toBe(200)
    finish()
    const { code, stdout } = await following
    expect(code).toBe(0)
    const expected = Array.from({ length: 250 }, (_, i) => `info  early ${i + 1}`)
    expect(texts(stdout)).toEqual([...expected, 'warn  late {"last":true}'])
  })

  it('--follow of a task that has ended prints its log and ends; with --json one line each', async () => {
    work(gate, [task('brief', { run: (_, ctx) => ctx.log.info('only line') })])
    const { id } = await gate.agent.submit('brief')
    await gate.agent.wait(id)
    const { stdout } = await logs(id, '--follow', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ level: 'info', text: 'only line' })
    expect((await logs(id)).stdout).toContain('only line')
  })

  it('--follow refuses --limit', async () => {
    const { code, stderr } = await logs('any', '--follow', '--limit', '3')
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--follow or --limit'),
    })
  })
})
