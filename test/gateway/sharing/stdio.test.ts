import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { textData } from '../../support/program.ts'
import { until } from '../calls/support.ts'
import { isAlive } from '../support/gateway-process.ts'
import { COUNTER, callText, sharedFolder, startClient, startGateway } from './support.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i + 1))

const Tasks = z.object({ tasks: z.array(z.object({ status: z.string() })) })

describe('several stdio clients in one folder', () => {
  for (const count of [2, 5]) {
    it(`${count} clients started together share one gateway, each with its own session`, async () => {
      const folder = sharedFolder()
      const all = await Promise.all(numbers(count).map(() => startClient(folder)))
      const counted = await Promise.all(all.map(({ client }) => callText(client, 'count')))
      expect(counted.toSorted()).toEqual(numbers(count))
      expect(folder.started()).toHaveLength(1)
      const listed = await all[0]?.client.callTool({ name: 'asyncgate.list_sessions', arguments: {} })
      const { sessions } = z.object({ sessions: z.array(z.unknown()) }).parse(textData(listed))
      expect(sessions).toHaveLength(count)
      await Promise.all(all.map(({ client }) => client.close()))
      await until(() => folder.running().length === 0 && all.every(({ pid }) => !isAlive(pid)))
    }, 120_000)
  }

  it('clients switch to another gateway when the first is killed, and get the result of the running call', async () => {
    const folder = sharedFolder()
    const env = { ASYNCGATE_INSTANCE_ID: 'fixed' }
    const first = await startClient(folder, { env })
    const others = [
      await startClient(folder, { env, era: 'legacy' }),
      await startClient(folder, { env, era: 'modern' }),
    ]
    const go = join(folder.cwd, 'go')
    const calls = others.map(({ client }) => callText(client, 'slow', { file: go }))
    await until(() => folder.slow().length === 2)
    process.kill(first.pid, 'SIGKILL')
    await until(() => folder.started().length === 2)
    writeFileSync(go, '')
    expect(await Promise.all(calls)).toEqual(['done', 'done'])
    // One task each: the request that is sent again finds the task of the first one.
    const listed = await others[0]?.client.callTool({
      name: 'asyncgate.list_tasks',
      arguments: { type: 'mcp.tool_call' },
    })
    expect(Tasks.parse(textData(listed)).tasks).toHaveLength(2)
    expect((await Promise.all(others.map(({ client }) => callText(client, 'count')))).toSorted()).toEqual([
      '1',
      '2',
    ])
  }, 120_000)

  it('clients switch to another gateway when the client of the first leaves', async () => {
    const folder = sharedFolder()
    const first = await startClient(folder)
    const second = await startClient(folder)
    expect(await callText(second.client, 'count')).toBe('1')
    const go = join(folder.cwd, 'go')
    const call = callText(second.client, 'slow', { file: go })
    await until(() => folder.slow().length === 1)
    await first.client.close()
    await until(() => folder.started().length === 2)
    writeFileSync(go, '')
    expect(await call).toBe('done')
    expect(await callText(second.client, 'count')).toBe('1')
    const { tools } = await second.client.listTools()
    expect(tools.map(({ name }) => name)).toContain('counter__count')
  }, 120_000)

  it('a client learns that a call may have been made and is not repeated', async () => {
    const folder = sharedFolder()
    const first = await startClient(folder)
    const second = await startClient(folder)
    const create = { type: 'anything', payload: {}, wait_seconds: 50 }
    process.kill(first.pid, 'SIGSTOP')
    const created = second.client.callTool({ name: 'asyncgate.create_task', arguments: create })
    process.kill(first.pid, 'SIGKILL')
    await expect(created).rejects.toThrow('The call may have been executed')
    expect(await callText(second.client, 'count')).toBe('1')
  }, 120_000)

  it('a client that wants another command under the same name is refused with the reason', async () => {
    const folder = sharedFolder()
    const first = await startClient(folder)
    const name = ['--name', 'counter']
    const other = (started: object) => startClient(folder, { options: name, ...started })
    await expect(other({ program: [process.execPath, COUNTER, '--other'] })).rejects.toThrow(
      new RegExp(
        `Another gateway named counter is running in this folder \\(process ${first.pid}\\).*--other`,
      ),
    )
    await expect(other({ options: [...name, '--allow', 'none'] })).rejects.toThrow('--allow all')
    await expect(other({ env: { COUNTER_LOG: '/dev/null' } })).rejects.toThrow('--env')
    const named = await startClient(folder, { options: ['--name', 'second'] })
    expect((await named.client.listTools()).tools.map((tool) => tool.name)).toContain('second__count')
    expect(await callText(first.client, 'count')).toBe('1')
  }, 120_000)

  it.each(['modern', 'legacy'] as const)(
    'a canceled call of any client cancels the task and notifies the upstream (%s)',
    async (era) => {
      const folder = sharedFolder()
      for (const calls of [1, 2]) {
        const { client } = await startClient(folder, { era })
        const stop = new AbortController()
        const request = { name: 'counter__slow', arguments: { file: join(folder.cwd, 'never') } }
        const held = client.callTool(request, { signal: stop.signal })
        const failed = expect(held).rejects.toThrow()
        await until(() => folder.slow().length === calls)
        stop.abort()
        await failed
        await until(() => folder.canceled().length === calls)
        const listed = await client.callTool({
          name: 'asyncgate.list_tasks',
          arguments: { type: 'mcp.tool_call' },
        })
        const { tasks } = Tasks.parse(textData(listed))
        expect(tasks.map(({ status }) => status)).toEqual(Array(calls).fill('canceled'))
      }
      // A modern client first probes the protocol with a separate process, so one more may have been started.
      expect(folder.running()).toHaveLength(1)
    },
    60_000,
  )

  it('the socket is accessible to its user only and is removed at the end', async () => {
    const folder = sharedFolder()
    const { client } = await startClient(folder)
    const socket = join(folder.cwd, '.asyncgate', 'gateway-counter.sock')
    expect(statSync(socket).mode & 0o777).toBe(0o600)
    await client.close()
    await until(() => !existsSync(socket))
  }, 60_000)

  it('clients share one gateway in a folder whose path is too long for a socket', async () => {
    const folder = sharedFolder('deep/'.repeat(30))
    const [one, two] = [await startClient(folder), await startClient(folder)]
    expect([await callText(one.client, 'count'), await callText(two.client, 'count')]).toEqual(['1', '2'])
  }, 60_000)

  it('joining needs no key, even if HTTP requests need one', async () => {
    const folder = sharedFolder()
    const env = { ASYNCGATE_API_KEY: 'a key of more than sixteen characters' }
    const [one, two] = [await startClient(folder, { env }), await startClient(folder, { env })]
    expect([await callText(one.client, 'count'), await callText(two.client, 'count')]).toEqual(['1', '2'])
    const [, url = ''] = /--url (http:[^\s"]+)/.exec(two.said()) ?? []
    expect((await fetch(`${url}/v1/tasks`)).status).toBe(401)
  }, 60_000)
})

describe('a stdio client in the folder of an HTTP gateway', () => {
  it('the client joins a gateway with the same upstream, and starts its own when that ends', async () => {
    const folder = sharedFolder()
    const gateway = await startGateway(folder)
    const { client } = await startClient(folder)
    expect(await callText(client, 'count')).toBe('1')
    expect(folder.started()).toHaveLength(1)
    const call = callText(client, 'slow', { file: join(folder.cwd, 'go') })
    await until(() => folder.slow().length === 1)
    gateway.child.kill('SIGKILL')
    await gateway.ended
    // The new gateway has a different database and does not know the call.
    await expect(call).rejects.toThrow('The call may have been executed')
    expect(await callText(client, 'count')).toBe('1')
    expect(folder.started()).toHaveLength(2)
  }, 120_000)

  it('the client starts its own gateway if the running one has different options', async () => {
    const folder = sharedFolder()
    await startGateway(folder, ['--allow', 'none'])
    const { client } = await startClient(folder)
    expect(await callText(client, 'count')).toBe('1')
    expect(folder.started()).toHaveLength(2)
  }, 60_000)
})

it('a second HTTP gateway reports where the first one runs', async () => {
  const folder = sharedFolder()
  const { url } = await startGateway(folder)
  await expect(startGateway(folder)).rejects.toThrow(`A gateway is already running in this folder (process`)
  await expect(startGateway(folder, ['--name', 'other'])).rejects.toThrow(`at ${url}`)
}, 60_000)
