import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cli, testFolder } from './support.ts'

it('asyncgate oauth registers, lists and removes clients, revokes tokens and rotates keys', async () => {
  const env = { ASYNCGATE_DATABASE_URL: `sqlite:${join(testFolder(), 'gate.db')}` }
  const result = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(['oauth', ...args, '--json'], env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  const redirect = 'https://app.example/callback'
  const created = await result(
    'create-client',
    '--name',
    'Planner',
    '--redirect',
    redirect,
    '--kind',
    'worker',
  )
  expect(created).toMatchObject({ redirect_uris: [redirect], scopes: ['tasks:lease', 'receipts:read'] })
  expect(await result('clients')).toMatchObject({ clients: [{ client_id: created.client_id }] })
  expect(await result('remove-client', created.client_id)).toMatchObject({ revoked: 0 })
  expect(await result('revoke', '--principal', 'agent:planner')).toEqual({ revoked: 0 })
  const [first, second] = [await result('rotate-keys'), await result('rotate-keys')]
  expect(first.kid).not.toBe(second.kid)
  const refused = await cli(
    ['oauth', 'create-client', '--name', 'x', '--redirect', 'http://app.example'],
    env,
  )
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('redirect_uris[0]')
})
