import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cli, testFolder } from './support.ts'

it('asyncgate identities lets a person sign in, lists and removes them', async () => {
  const env = { ASYNCGATE_DATABASE_URL: `sqlite:${join(testFolder(), 'gate.db')}` }
  const run = (...args: string[]) => cli(['identities', ...args], env)
  const result = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  const put = ['put', '--email', 'Ann@example.com', '--principal', 'human:ann', '--role', 'admin']
  const { identity_id } = await result(...put)
  expect((await run(...put)).stdout).toBe('ann@example.com signs in as human:ann with the role admin.\n')
  expect(await result('list')).toMatchObject({ identities: [{ identity_id, email: 'ann@example.com' }] })
  expect((await run('list')).stdout).toMatch(new RegExp(`${identity_id} +ann@example.com +human:ann +admin`))
  expect(await result('remove', identity_id)).toEqual({ identity_id, revoked: 0 })
  const refused = await run('put', '--email', 'ann', '--principal', 'human:ann', '--role', 'admin')
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('email')
  expect((await run('put', '--email', 'ann@example.com', '--role', 'admin')).stderr).toContain('--principal')
})
