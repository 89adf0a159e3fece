import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startCli, startServer, testFolder } from '../cli/support.ts'
import { Browser } from '../oauth/fake-browser.ts'
import { begin, finish, REDIRECT, refresh } from '../oauth/support.ts'
import { freshDatabase, postgresUrl, restrictedRole } from '../support/postgres.ts'
import { findSecrets } from '../support/secret-search.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Characters that differ between the encodings. */
const secret = (name: string) => `${name}-${randomBytes(8).toString('hex')}/+"q"=`

const SECRETS = {
  shared: secret('shared'),
  admin: secret('admin'),
  wrong: secret('wrong'),
  memory: secret('memory'),
  approvals: secret('approvals'),
  alerts: secret('alerts'),
  inbound: secret('inbound'),
  smtp: secret('smtp'),
  imap: secret('imap'),
  gist: secret('gist'),
  upstream: secret('upstream'),
  provider: secret('provider'),
  token: `eyJhbGciOiJSUzI1NiJ9.${randomBytes(24).toString('base64url')}.${randomBytes(24).toString('base64url')}`,
}

/** A server that refuses every request, as memory, webhook receiver, upstream and GitHub. */
async function refusing(): Promise<{ url: string; received: string[] }> {
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(JSON.stringify(request.headers))
    response.writeHead(request.url?.includes('gists') ? 200 : 401, { 'content-type': 'application/json' })
    response.end('[]')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

/** All events until the server stops. */
async function readEvents(url: string, headers: Record<string, string>): Promise<string> {
  const { body } = await fetch(url, { headers })
  let text = ''
  try {
    for await (const chunk of body ?? []) text += Buffer.from(chunk).toString()
  } catch {
    // The server closed the connection.
  }
  return text
}

describe.skipIf(!postgresUrl())('secrets', () => {
  it('appear in no log, response, metric, event, receipt or command output', async () => {
    const database = await freshDatabase('redaction')
    onTestFinished(() => database.drop())
    const databaseUrl = await restrictedRole(database.url)
    const home = testFolder()
    const refuser = await refusing()
    const upstreams = join(home, 'upstreams.yaml')
    writeFileSync(
      upstreams,
      `- name: wiki\n  transport:\n    type: http\n    url: ${refuser.url}/mcp\n    headers:\n      Authorization: Bearer env:WIKI_TOKEN\n`,
    )
    const url = (scheme: string, password: string) =>
      `${scheme}://gate:${encodeURIComponent(password)}@127.0.0.1:1`
    const env = {
      ASYNCGATE_ENV: 'production',
      ASYNCGATE_LOG_LEVEL: 'debug',
      ASYNCGATE_DATABASE_URL: databaseUrl,
      ASYNCGATE_API_KEY: SECRETS.shared,
      ASYNCGATE_ADMIN_KEYS: `anna=${SECRETS.admin}`,
      ASYNCGATE_MEMORY_URL: `${refuser.url}/memory`,
      ASYNCGATE_MEMORY_TOKEN: SECRETS.memory,
      ASYNCGATE_APPROVAL_WEBHOOK_URL: `${refuser.url}/approvals`,
      ASYNCGATE_APPROVAL_WEBHOOK_SECRET: SECRETS.approvals,
      ASYNCGATE_ALERT_WEBHOOK_URL: `${refuser.url}/alerts`,
      ASYNCGATE_ALERT_WEBHOOK_SECRET: SECRETS.alerts,
      ASYNCGATE_MAIL_FROM: 'gate@agents.example',
      ASYNCGATE_MAIL_RECIPIENTS: 'friend.example',
      ASYNCGATE_MAIL_WEBHOOK_SECRET: SECRETS.inbound,
      ASYNCGATE_SMTP_URL: url('smtp', SECRETS.smtp),
      ASYNCGATE_IMAP_URL: url('imap', SECRETS.imap),
      ASYNCGATE_RESULTS_GIST_TOKEN: SECRETS.gist,
      ASYNCGATE_RESULTS_GIST_API_URL: refuser.url,
      ASYNCGATE_UPSTREAMS_FILE: upstreams,
      ASYNCGATE_UPSTREAM_PRIVATE: '127.0.0.1',
      ASYNCGATE_OAUTH_SERVER: 'true',
      ASYNCGATE_OIDC_ISSUER: `${refuser.url}/provider`,
      ASYNCGATE_OIDC_CLIENT_ID: 'gate',
      ASYNCGATE_OIDC_CLIENT_SECRET: SECRETS.provider,
      WIKI_TOKEN: SECRETS.upstream,
    }
    const outputs: [string, string][] = []
    const server = await startServer(['serve'], home, env)
    onTestFinished(async () => void (await server.stop()))

    const send = async (
      method: string,
      path: string,
      headers: Record<string, string> = {},
      body?: object | URLSearchParams,
    ) => {
      const response = await fetch(`${server.url}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(body !== undefined &&
            !(body instanceof URLSearchParams) && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: body instanceof URLSearchParams ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, text, headers: response.headers }
    }
    const record = async (...request: Parameters<typeof send>) => {
      const answer = await send(...request)
      outputs.push([`${request[0]} ${request[1].split('?')[0]}`, answer.text])
      return answer
    }
    const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
    const anna = bearer(SECRETS.admin)
    const agent = { principal_kind: 'agent', principal_id: 'alice' }

    const events = readEvents(`${server.url}/v1/events`, anna)

    // Keys that are issued, replaced and revoked. Only the responses that create them show them.
    const created = JSON.parse(
      (await send('POST', '/v1/keys', anna, { principal: { kind: 'agent', id: 'bob' }, role: 'agent' })).text,
    )
    const rotated = JSON.parse((await send('POST', `/v1/keys/${created.key_id}/rotate`, anna, {})).text)
    const issued: Record<string, string> = { issued: created.key, replacement: rotated.key }
    await record('GET', '/v1/tasks', bearer(created.key))
    await record('GET', '/v1/tasks', bearer(rotated.key))
    await record('POST', `/v1/keys/${rotated.key_id}/revoke`, anna, {})
    await record('GET', '/v1/tasks', bearer(rotated.key))
    await record('GET', `/v1/keys/${created.key_id}`, anna)

    // Codes and tokens that are granted, used, replaced, used again and revoked.
    const { client_id } = JSON.parse(
      (
        await record('POST', '/v1/oauth/clients', anna, {
          client_name: 'My agent',
          redirect_uris: [REDIRECT],
        })
      ).text,
    )
    const flow = await begin(server, client_id)
    const returned = await new Browser().decide(flow.url, 'allow', SECRETS.admin)
    const tokens = await finish(flow, returned)
    const renewed = await refresh(flow, tokens.refresh_token ?? '')
    issued.code = returned.searchParams.get('code') ?? ''
    issued.verifier = flow.verifier
    issued.access = tokens.access_token
    issued.refresh = tokens.refresh_token ?? ''
    issued.renewedAccess = renewed.access_token
    issued.renewedRefresh = renewed.refresh_token ?? ''
    await record('GET', '/v1/tasks', bearer(issued.access))
    await record('GET', `/v1/tasks?access_token=${issued.access}`)
    const grants = [
      { grant_type: 'refresh_token', refresh_token: issued.refresh },
      { grant_type: 'refresh_token', refresh_token: issued.renewedRefresh },
      {
        grant_type: 'authorization_code',
        code: issued.code,
        code_verifier: flow.verifier,
        redirect_uri: REDIRECT,
      },
    ]
    for (const grant of grants) {
      const refused = await record('POST', '/oauth/token', {}, new URLSearchParams({ ...grant, client_id }))
      expect(refused.status).toBe(400)
    }
    await record('POST', '/oauth/revoke', {}, new URLSearchParams({ token: issued.renewedAccess, client_id }))
    await record('GET', '/v1/tasks', bearer(issued.renewedAccess))
    await record('GET', '/v1/oauth/clients', anna)

    // Credentials in every place, valid and not.
    for (const value of [SECRETS.wrong, SECRETS.token]) {
      await record('GET', '/v1/tasks', bearer(value))
      await record('GET', '/v1/tasks', { 'x-api-key': value })
      await record('GET', `/v1/tasks?access_token=${encodeURIComponent(value)}`)
      await record('GET', '/v1/tasks', { cookie: `asyncgate_console=${encodeURIComponent(value)}` })
      await record('POST', '/v1/tasks', bearer(SECRETS.shared), { ...agent, type: 'x', auth_token: value })
      await record('POST', `/webhooks/inbound_email?token=${encodeURIComponent(value)}`, {}, {})
      await record('POST', '/console/login', {}, new URLSearchParams({ key: value }))
      const call = { name: 'asyncgate_list_tasks', arguments: { auth_token: value } }
      await record('POST', '/mcp', {}, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
    }
    const signedIn = await record('POST', '/console/login', {}, new URLSearchParams({ key: SECRETS.admin }))
    const cookie = /^[^=]+=([^;]+)/.exec(signedIn.headers.get('set-cookie') ?? '')
    const session = { cookie: cookie?.[0] ?? '' }
    for (const page of [
      'approvals',
      'tasks',
      'keys',
      'clients',
      'identities',
      'audit',
      'upstreams',
      'policies',
    ]) {
      expect((await record('GET', `/console/${page}`, session)).status).toBe(200)
    }

    // Work that uses the secrets of other services, all of which refuse it.
    await record('POST', '/v1/policies', anna, {
      id: 'ask',
      action: 'REQUIRE_APPROVAL',
      scope: { type: 'risky' },
    })
    const shared = bearer(SECRETS.shared)
    const risky = await record('POST', '/v1/tasks', shared, { ...agent, type: 'risky' })
    const { task_id } = JSON.parse(risky.text)
    expect((await record('POST', `/v1/approvals/${task_id}/approve`, anna, {})).status).toBe(200)
    const claimed = await record('POST', '/v1/leases/claim', shared, {
      worker_id: 'w1',
      accept_types: ['risky'],
    })
    const [offer] = JSON.parse(claimed.text).tasks
    const lease = { worker_id: 'w1', task_id, lease_id: offer.lease_id }
    await record('POST', `/v1/tasks/${task_id}/complete`, shared, { ...lease, result: { done: true } })
    await record('POST', `/v1/tasks/${task_id}/result/promote`, shared, agent)
    await record('POST', '/v1/emails', shared, {
      ...agent,
      to: 'friend@friend.example',
      subject: 'hello',
      body: 'text',
    })
    await delay(2000)
    for (const path of [
      '/v1/audit',
      '/v1/upstreams',
      '/v1/upstreams/wiki',
      '/v1/emails',
      '/v1/config',
      '/v1/keys',
    ]) {
      await record('GET', path, anna)
    }
    await record('GET', '/v1/receipts?principal_kind=agent&principal_id=alice', anna)
    await record('GET', '/v1/receipts/ledger', anna)
    for (const path of ['/metrics', '/health', '/openapi.json', '/docs', '/unknown'])
      await record('GET', path, anna)

    // Commands, also those that fail.
    for (const [args, changed] of [
      [['doctor', '--port', '0'], {}],
      [['doctor', '--port', '0', '--json'], {}],
      [['config'], {}],
      [['config', '--json'], {}],
      [['config'], { ASYNCGATE_ADMIN_KEYS: SECRETS.admin }],
      [['serve', '--port', new URL(server.url).port], {}],
      [['serve'], { ASYNCGATE_PORT: 'x', ASYNCGATE_SMTP_URL: `smtp//${SECRETS.smtp}` }],
      [['serve'], { ASYNCGATE_DATABASE_URL: databaseUrl.replace(/:\d+\//, ':1/') }],
      [['serve'], { ASYNCGATE_DATABASE_URL: databaseUrl.replace(/:\d+\//, ':port/') }],
      [['tasks', 'list', '--url', server.url, '--key', SECRETS.wrong], {}],
    ] as const) {
      const { stdout, stderr } = await startCli(args, home, { ...env, ...changed }).ended
      outputs.push([`asyncgate ${args[0]}`, stdout + stderr])
    }
    const { stdout, stderr } = await server.stop()
    outputs.push(['the output of the server', stdout + stderr], ['the event stream', await events])

    const all = {
      ...SECRETS,
      ...issued,
      cookie: cookie?.[1] ?? '',
      database: new URL(databaseUrl).password,
    }
    expect(Object.values(all)).not.toContain('')
    // The secrets were used, and the search finds what is there.
    const sent = refuser.received.join('\n')
    expect(findSecrets(SECRETS, [['requests', sent]])).toEqual(
      expect.arrayContaining(['memory in requests', 'upstream in requests', 'gist in requests']),
    )
    expect(stderr).toContain('"level":20')
    expect(await events).toContain(task_id)
    expect(findSecrets({ task: task_id }, outputs).length).toBeGreaterThan(3)
    expect(findSecrets(all, outputs)).toEqual([])
  })
})
