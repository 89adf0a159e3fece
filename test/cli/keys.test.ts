import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cli, startServer, testFolder } from './support.ts'

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

/** The key commands on a new SQLite database. */
function commands() {
  const folder = testFolder()
  const env = {
    ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    ASYNCGATE_ENV: 'production',
    ASYNCGATE_INSTANCE_ID: 'keys-test',
  }
  const run = (...args: string[]) => cli(args, env)
  const result = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  return { folder, env, run, result }
}

describe('asyncgate keys', () => {
  it('init creates the first admin key, with which a production server starts and is used', async () => {
    const { folder, env, run, result } = commands()
    const refused = await run('serve', '--port', '0')
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.stderr).toContain('asyncgate init')

    const admin = await result('init', '--principal', 'human:ann')
    expect(admin).toMatchObject({
      role: 'admin',
      principal: { kind: 'human', id: 'ann' },
      tenant_id: 'default',
    })
    const again = await run('init')
    expect(again).toMatchObject({ code: 1 })
    expect(again.stderr).toContain(admin.key_id)

    const server = await startServer(['serve'], folder, env)
    onTestFinished(async () => {
      await server.stop()
    })
    const keys = await fetch(`${server.url}/v1/keys`, bearer(admin.key))
    expect(await keys.json()).toMatchObject({ keys: [{ key_id: admin.key_id }] })
    expect((await fetch(`${server.url}/v1/keys`)).status).toBe(401)

    // Beside the running server.
    const create = ['keys', 'create', '--principal', 'agent:planner', '--role', 'agent', '--tenant', 'acme']
    const agent = await result(...create, '--scope', 'tasks:read', '--expires', '90d', '--name', 'laptop')
    expect(agent).toMatchObject({ key: expect.stringMatching(/^aga_/), tenant_id: 'acme', name: 'laptop' })
    const read = () => fetch(`${server.url}/v1/tasks`, bearer(agent.key)).then(({ status }) => status)
    expect(await read()).toBe(200)
    expect(await result('keys', 'revoke', agent.key_id, '--tenant', 'acme')).toMatchObject({
      state: 'revoked',
    })
    await expect.poll(read, { timeout: 2_000 }).toBe(401)
  })

  it('changes of keys beside the server and refused requests are in the audit log', async () => {
    const { folder, env, result } = commands()
    const { key, key_id } = await result('init', '--principal', 'human:ann')
    const server = await startServer(['serve'], folder, env)
    onTestFinished(async () => {
      await server.stop()
    })
    await fetch(`${server.url}/v1/tasks`, bearer('wrong'))
    const audit = (...args: string[]) =>
      cli(['audit', '--url', server.url, '--key', key, ...args], { ASYNCGATE_API_KEY: '' })
    const { code, stdout } = await audit('--from', '1h')
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`key_created +info +human:\\S+ +${key_id}`))
    expect(stdout).toMatch(/auth_failure +warning +127\.0\.0\.1/)
    const page = JSON.parse((await audit('--event', 'auth_failure', '--json')).stdout)
    expect(page).toMatchObject({ events: [{ event: 'auth_failure', ip: '127.0.0.1' }], next_cursor: null })
    expect(await audit('--from', 'yesterday')).toMatchObject({ code: 2 })
    expect((await audit('--event', 'nothing')).code).not.toBe(0)
  })

  it('keys are listed, shown and rotated', async () => {
    const { run, result } = commands()
    const create = ['keys', 'create', '--principal', 'worker:w1', '--role', 'worker', '--capability', 'pdf']
    const created = await run(...create)
    const key = created.stdout.split('\n')[0] ?? ''
    expect(key).toMatch(/^agw_\w{52}$/)
    expect(created.stderr).toContain('cannot be shown again')
    const { keys } = await result('keys', 'list')
    expect(keys).toMatchObject([{ capabilities: ['pdf'], state: 'active', last_used_at: null }])
    const [{ key_id }] = keys
    expect((await run('keys', 'list')).stdout).toContain(`agw_${key_id}`)
    const shown = await run('keys', 'show', `agw_${key_id}`)
    expect(shown.stdout).toContain('worker:w1')
    expect(shown.stdout + JSON.stringify(keys)).not.toContain(key.slice(-38))
    const rotated = await result('keys', 'rotate', key_id, '--overlap', '2h')
    expect(rotated).toMatchObject({ principal: { id: 'w1' }, capabilities: ['pdf'] })
    expect(await result('keys', 'show', key_id)).toMatchObject({ replaced_by: rotated.key_id })
  })

  it.each([
    [['keys', 'create', '--role', 'agent'], '--principal is missing'],
    [['keys', 'create', '--principal', 'agent:a'], '--role is missing'],
    [['keys', 'create', '--principal', 'agent:a', '--role', 'boss'], 'role'],
    [['keys', 'create', '--principal', 'agent:a', '--role', 'agent', '--expires', 'soon'], '--expires takes'],
    [['keys', 'rotate', 'x', '--overlap', 'soon'], '--overlap takes'],
    [['keys', 'show'], 'KEY_ID is missing'],
  ])('%j is a usage error', async (args, message) => {
    const ended = await commands().run(...args)
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain(message)
  })

  it('an unknown key is not found', async () => {
    const ended = await commands().run('keys', 'revoke', 'nonsense')
    expect(ended.code).toBe(3)
    expect(ended.stderr).toContain('asyncgate keys list')
  })
})
