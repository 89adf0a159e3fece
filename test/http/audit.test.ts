import { expect, it } from 'vitest'
import { admin, agent, describeGates, type Open } from '../support/gates.ts'
import { KEY, type Served, servers } from './support.ts'

const CLOSED = { api_key: KEY, allow_insecure_dev: false, admin_keys: { root: 'the-key-of-root-0001' } }
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const SHARED = bearer(KEY)
const ROOT = bearer('the-key-of-root-0001')
const MCP = { ...SHARED, accept: 'application/json, text/event-stream' }

const toolCall = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
})

async function events({ gate }: Served, filter: object = {}, tenant?: string) {
  const page = await gate.listAudit(admin(tenant), { limit: 200, ...filter })
  return page.events.toReversed()
}

describeGates('the audit log over HTTP', (open: Open) => {
  const serve = servers(open)
  const start = () => serve({ auth: CLOSED, realTime: true })

  it('a request without a valid key is an auth_failure with its origin, and never shows the key', async () => {
    const served = await start()
    const wrong = `aga_${'wR0ng'.repeat(11)}`
    await served.send('GET', '/v1/tasks', undefined, {
      ...bearer(wrong),
      'user-agent': `probe ${wrong}`,
      'x-request-id': 'req-1',
      'x-forwarded-for': '203.0.113.9',
    })
    const found = await events(served, { event: 'auth_failure' })
    expect(found).toMatchObject([
      {
        severity: 'warning',
        outcome: 'failure',
        principal: null,
        ip: '127.0.0.1',
        user_agent: 'probe aga_***',
        request_id: 'req-1',
        details: { forwarded_for: '203.0.113.9' },
      },
    ])
    expect(JSON.stringify(found)).not.toContain('wR0ng')
  })

  it('an MCP request without a valid key is recorded too', async () => {
    const served = await start()
    await served.send('POST', '/mcp', toolCall('asyncgate_list_tasks', {}), { ...MCP, ...bearer('x') })
    expect(await events(served, { event: 'auth_failure' })).toMatchObject([{ ip: '127.0.0.1' }])
  })

  it('each key is recorded once an hour', async () => {
    const served = await start()
    const { key, key_id } = await served.gate.createKey(admin(), {
      principal: { kind: 'agent', id: 'alice' },
      role: 'agent',
    })
    for (let i = 0; i < 3; i++) {
      for (const headers of [SHARED, ROOT, bearer(key)])
        await served.send('GET', '/v1/tasks', undefined, headers)
      await served.send('POST', '/mcp', toolCall('asyncgate_list_tasks', {}), { ...MCP, ...bearer(key) })
    }
    const found = await events(served, { event: 'auth_success' })
    expect(found.map(({ principal, key_id: id, details }) => [principal, id, details.kind])).toEqual([
      [null, null, 'shared'],
      ['human:root', null, 'personal'],
      ['agent:alice', key_id, 'issued'],
    ])
  })

  it('requests of an insecure server are not recorded as uses of a key', async () => {
    const served = await serve({ auth: { api_key: null, allow_insecure_dev: true } })
    await served.send('GET', '/v1/tasks')
    expect(await events(served)).toEqual([])
  })

  it.each(['REST', 'MCP'])('over %s a tenant of another key is a critical event', async (protocol) => {
    const served = await start()
    if (protocol === 'REST') await served.send('GET', '/v1/tasks?tenant_id=acme', undefined, SHARED)
    else await served.send('POST', '/mcp', toolCall('asyncgate_list_tasks', { tenant_id: 'acme' }), MCP)
    expect(await events(served, { event: 'cross_tenant_attempt' })).toMatchObject([
      { severity: 'critical', subject: 'acme', ip: '127.0.0.1' },
    ])
    expect(await events(served, {}, 'acme')).toEqual([])
  })

  it.each(['REST', 'MCP'])(
    'over %s a refused role is recorded once, with its principal',
    async (protocol) => {
      const served = await start()
      const { key, key_id } = await served.gate.createKey(admin(), {
        principal: { kind: 'agent', id: 'alice' },
        role: 'agent',
      })
      if (protocol === 'REST') await served.send('GET', '/v1/audit', undefined, bearer(key))
      else await served.send('POST', '/mcp', toolCall('asyncgate_list_audit', {}), { ...MCP, ...bearer(key) })
      expect(await events(served, { event: 'authorization_failure' })).toMatchObject([
        {
          principal: 'agent:alice',
          key_id,
          ip: '127.0.0.1',
          details: { operation: 'list_audit', required_role: 'admin' },
        },
      ])
    },
  )

  it('a flood of failures adds few events', async () => {
    const served = await start()
    for (let i = 0; i < 200; i++) await served.send('GET', '/v1/tasks', undefined, bearer(`wrong-${i}`))
    const names = (await events(served)).map(({ event }) => event)
    expect(names).toEqual(['auth_failure', 'rate_limit_exceeded'])
  })

  it('changes by admins are recorded with their subject, and secrets are masked', async () => {
    const served = await start()
    const root = (path: string, body: object) =>
      served.send('POST', path, body, { ...ROOT, 'x-request-id': 'r1' })
    const principal = { kind: 'agent', id: 'alice' }
    const { body: created } = await root('/v1/keys', { principal, role: 'agent' })
    const { body: rotated } = await root(`/v1/keys/${created.key_id}/rotate`, {})
    await root(`/v1/keys/${rotated.key_id}/revoke`, {})
    await root('/v1/policies', {
      id: 'rule',
      action: 'BLOCK',
      scope: { type: 'x' },
      condition: { '==': ['password', { var: 'args.password' }] },
    })
    await root('/v1/task-types', { type: 'job', description: `uses ${created.key}` })
    await root('/v1/policies/rule/remove', {})
    const found = (await events(served)).filter(({ event }) => event !== 'auth_success')
    expect(found.map(({ event, subject, details }) => [event, subject, details.operation])).toEqual([
      ['key_created', created.key_id, 'create_key'],
      ['key_rotated', created.key_id, 'rotate_key'],
      ['key_revoked', rotated.key_id, 'revoke_key'],
      ['admin_action', 'rule', 'put_policy'],
      ['admin_action', 'job', 'register_task_type'],
      ['admin_action', 'rule', 'remove_policy'],
    ])
    for (const event of found) {
      expect(event).toMatchObject({
        principal: 'human:root',
        request_id: 'r1',
        ip: '127.0.0.1',
        outcome: 'success',
      })
    }
    expect(JSON.stringify(found)).not.toContain(String(created.key))
    expect(found[0]?.details).toMatchObject({ role: 'admin', input: { principal, role: 'agent' } })
  })

  it('task calls that succeed are not recorded', async () => {
    const { gate } = await open()
    const { task_id } = await gate.createTask(agent(), { type: 'job' })
    await gate.cancelTask(agent(), { task_id })
    await gate.listTasks(agent(), {})
    expect((await gate.listAudit(admin(), {})).events).toEqual([])
  })

  it('an exceeded quota is recorded', async () => {
    const { gate } = await open({ settings: { max_active_tasks: 1 } })
    await gate.createTask(agent(), { type: 'job' })
    await expect(gate.createTask(agent(), { type: 'job' })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect((await gate.listAudit(admin(), {})).events).toMatchObject([
      { event: 'quota_exceeded', principal: 'agent:alice', details: { operation: 'create_task' } },
    ])
  })
})
