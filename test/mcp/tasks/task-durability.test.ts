import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Server, startServer, testFolder } from '../../cli/support.ts'
import { agent, describeGates } from '../../support/gates.ts'
import { PROGRAM } from '../../support/program.ts'
import { ARTIFACTS } from '../../support/steps.ts'
import { contentOf, serveMcp } from '../endpoint.ts'
import { TaskClient } from './task-client.ts'
import { complete, offerSum, progress, SUM, take, UNSERVED } from './task-work.ts'

const KEY = 'a-key-of-the-tests'

const Leased = z.object({ tasks: z.tuple([z.object({ task_id: z.string(), lease_id: z.string() })]) })

it('a task handle survives the kill of the server that issued it', async () => {
  const home = testFolder()
  const start = () => startServer(['serve'], home, { ASYNCGATE_API_KEY: KEY })
  const headers = { authorization: `Bearer ${KEY}` }
  const clientOf = ({ url }: Server) => new TaskClient({ url: `${url}/mcp${PROGRAM}` }, {}, headers)
  const first = await start()
  onTestFinished(() => void first.process.kill('SIGKILL'))
  const before = clientOf(first)
  const call = async (client: TaskClient, name: string, args: object) =>
    contentOf(await client.call(`asyncgate.${name}`, args))

  await call(before, 'register_task_type', { ...SUM, principal_kind: 'human', principal_id: 'ada' })
  const { taskId, createdAt } = await before.start('sum', { numbers: [1, 2], agent_id: 'alice' })
  const leased = await call(before, 'lease_next', { worker_id: 'w', lease_ttl_seconds: 600 })
  const [lease] = Leased.parse(leased).tasks
  const held = { worker_id: 'w', ...lease }
  await call(before, 'report_progress', { ...held, progress: { percent: 40, message: 'adding' } })
  const subscription = await before.listen({ taskIds: [taskId] })
  await subscription.next()
  await subscription.task()
  first.process.kill('SIGKILL')
  await first.ended
  await expect(subscription.next()).rejects.toThrow()

  const second = await start()
  onTestFinished(() => void second.process.kill('SIGKILL'))
  const after = clientOf(second)
  expect(await after.get(taskId)).toMatchObject({
    createdAt,
    status: 'working',
    statusMessage: '40 %: adding',
  })
  const again = await after.listen({ taskIds: [taskId] })
  await again.next()
  expect(await again.task()).toMatchObject({ statusMessage: '40 %: adding' })
  await call(after, 'complete', { ...held, result: { sum: 3 }, artifacts: ARTIFACTS })
  expect(await again.task()).toMatchObject({ status: 'completed' })
  expect(await after.get(taskId)).toMatchObject({
    status: 'completed',
    result: { structuredContent: { sum: 3 } },
  })
}, 60_000)

describeGates(
  'MCP tasks on two servers',
  (open) => {
    async function pair() {
      const bench = await open({ realTime: true })
      const other = await bench.another({ realTime: true })
      const servers = [await serveMcp(bench.gate), await serveMcp(other.gate)]
      onTestFinished(async () => {
        for (const server of servers) await server.close()
      })
      await offerSum(bench.gate)
      const [here, there] = servers.map((server) => new TaskClient(server))
      if (here === undefined || there === undefined) throw new Error('not two')
      return { here, there, gate: bench.gate, otherGate: other.gate }
    }

    it('each server finds the tasks of the other immediately', async () => {
      const { here, there, otherGate } = await pair()
      const task = await here.start('sum', { agent_id: 'alice' })
      const { taskId, createdAt } = task
      expect(await there.get(taskId)).toMatchObject({ taskId, createdAt, status: 'working' })
      expect((await there.method('tasks/cancel', taskId)).body?.error).toBeUndefined()
      expect(await here.get(taskId)).toMatchObject({ status: 'cancelled' })
      expect((await otherGate.getTask(agent('alice'), { task_id: taskId })).status).toBe('canceled')
    })

    it('a subscription reports progress and end of a task on the other server', async () => {
      const { here, there, otherGate } = await pair()
      const { taskId } = await here.start('sum')
      const subscription = await here.listen({ taskIds: [taskId] })
      await subscription.next()
      expect(await subscription.task()).toMatchObject({ statusMessage: UNSERVED })
      const held = await take(otherGate)
      await progress(otherGate, held, { message: 'adding' })
      // A load round may also have seen the task when it was leased.
      while ((await subscription.task()).statusMessage !== 'adding');
      await complete(otherGate, held, { sum: 3 })
      expect(await subscription.task()).toMatchObject({ status: 'completed' })
      expect(await there.get(taskId)).toMatchObject({ result: { structuredContent: { sum: 3 } } })
    })
  },
  ['postgres'],
)
