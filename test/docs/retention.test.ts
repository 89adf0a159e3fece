import { expect, it, vi } from 'vitest'
import { startServer, testFolder } from '../cli/support.ts'
import { repositoryText } from '../core/documents.ts'
import { blocksOf, proseOf } from './markdown.ts'
import { Shell } from './shell.ts'

vi.setConfig({ testTimeout: 240_000 })

const page = repositoryText('docs/retention.md')
const [setting = '', archived = '', commands = '', ...others] = blocksOf(page)
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text)

it('every command of docs/retention.md works, with its setting', async () => {
  expect(others).toEqual([])
  const [, days = ''] = /^ASYNCGATE_TASK_RETENTION_DAYS=(\d+)$/.exec(setting) ?? []
  const folder = testFolder()
  const env = { ASYNCGATE_TASK_RETENTION_DAYS: days, ASYNCGATE_ALLOW_INSECURE_DEV: 'true' }
  const server = await startServer(['serve'], folder, env)
  const response = await fetch(`${server.url}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'sum' }),
  })
  const { task_id } = JSON.parse(await response.text())

  const shell = new Shell(folder, { ...env, ASYNCGATE_URL: server.url, ASYNCGATE_PORT: '0' })
  expect(await shell.run(archived.replace('TASK_ID', task_id))).toContain('task.assigned')
  const outputs = commands.split('\n').map(async (command) => [command, await shell.run(command)] as const)
  for (const [command, output] of await Promise.all(outputs)) {
    expect(output, command).toMatch(new RegExp(`Contents of ended tasks +${days} days`))
  }
  const named = [...proseOf(page).matchAll(/`(asyncgate [^`]*)`/g)].map(([, command = '']) => command)
  expect(named).toEqual(['asyncgate doctor'])
  for (const command of named) expect(await shell.run(command)).toMatch(/growth +ok/)
  await server.stop()
})
