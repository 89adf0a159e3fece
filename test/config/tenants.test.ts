import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'
import { folder } from '../gateway/upstreams/support.ts'

function report(content: unknown, env: Readonly<Record<string, string>> = {}) {
  const path = join(folder(), 'tenants.yaml')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  const found = reportConfig({ env: { ...env, ASYNCGATE_TENANTS_FILE: path }, file: '/dev/null' })
  return { ...found, problems: found.problems.map((problem) => problem.replaceAll(path, 'FILE')) }
}

const ACME = { tenant: 'acme', mail_from: 'gate@acme.example' }

describe('TENANTS_FILE', () => {
  it('each tenant has its own settings, and those of the server are the settings of the default tenant', () => {
    const secret = join(folder(), 'secret')
    writeFileSync(secret, 'a-secret-of-sixteen\n', { mode: 0o600 })
    const { config, problems } = report(
      [
        { ...ACME, smtp_url: 'smtp://mail.acme.example', upstream_private: ['10.0.0.1'] },
        {
          tenant: 'beta',
          APPROVAL_WEBHOOK_URL: 'https://beta.example/',
          approval_webhook_secret_file: secret,
        },
      ],
      { ASYNCGATE_UPSTREAM_CREDENTIALS: 'env:TOKEN' },
    )
    expect(problems).toEqual([])
    const { default: first, acme, beta } = Object.fromEntries(config?.tenants ?? [])
    expect(first).toMatchObject({ email: null, upstream_private: [], upstream_credentials: ['env:TOKEN'] })
    expect(acme).toMatchObject({
      email: { mail_from: 'gate@acme.example', smtp: { host: 'mail.acme.example' } },
      approvalWebhook: null,
      upstream_private: ['10.0.0.1'],
      upstream_credentials: [],
    })
    expect(beta?.approvalWebhook).toEqual({ url: 'https://beta.example/', secret: 'a-secret-of-sixteen' })
  })

  it.each([
    ['tenant: [', /^FILE is not YAML or JSON/],
    ['tenant: acme', /^FILE is not a list of tenants/],
    [[{ mail_from: 'a@b.example' }], /^FILE \[0\] has no tenant/],
    [[{ tenant: 'default' }], /^FILE \[0\] is the tenant default, whose settings are those of the server/],
    [[ACME, ACME], /^FILE has the tenant acme twice/],
    [[{ ...ACME, database_url: 'x' }], /^FILE \[0\] \(acme\) database_url is not a known setting/],
    [[{ ...ACME, mail_from: 'nobody' }], /^FILE \[0\] \(acme\) mail_from is not /],
    [[{ tenant: 'acme', smtp_host: 'x' }], /^FILE \[0\] \(acme\): SMTP_HOST needs MAIL_FROM/],
    [
      [{ tenant: 'acme', approval_webhook_url: 'https://a.example/', approval_webhook_secret: 'short' }],
      /^FILE \[0\] \(acme\): APPROVAL_WEBHOOK_URL needs APPROVAL_WEBHOOK_SECRET, of at least 16 characters/,
    ],
  ])('the file %j is refused', (content, problem) => {
    const { config, problems } = report(content)
    expect(config).toBeUndefined()
    expect(problems).toEqual([expect.stringMatching(problem)])
  })

  it('a file that cannot be read is refused', () => {
    const env = { ASYNCGATE_TENANTS_FILE: '/nowhere/tenants.yaml' }
    expect(reportConfig({ env, file: '/dev/null' }).problems).toEqual([
      'The file /nowhere/tenants.yaml cannot be read (ENOENT).',
    ])
  })

  const beta = { tenant: 'beta', mail_from: 'gate@beta.example' }
  const imap = { imap_url: 'imaps://u:p@mail.example' }
  it.each([
    ['MAIL_FROM', ACME, { ...beta, mail_from: 'Gate@acme.example' }],
    ['MAIL_DOMAIN', { ...ACME, mail_addressing: 'name' }, { ...beta, mail_domain: 'acme.example' }],
    ['IMAP_URL', { ...ACME, ...imap }, { ...beta, ...imap }],
    ['MAIL_WEBHOOK_SECRET', { ...ACME, mail_webhook_secret: 's' }, { ...beta, mail_webhook_secret: 's' }],
  ])('two tenants with the same %s are refused', (setting, one, other) => {
    const said = `The tenants acme and beta have the same ${setting}: their emails could not be told apart.`
    expect(report([one, other]).problems).toEqual([said])
    // The account of the server is one of them.
    const { tenant: _, ...ofServer } = one
    const env = Object.entries(ofServer).map(([name, value]) => [`ASYNCGATE_${name.toUpperCase()}`, value])
    expect(report([other], Object.fromEntries(env)).problems).toEqual([said.replace('acme', 'default')])
  })

  it('a password in clear text is refused for every tenant', () => {
    const smtp = { smtp_url: 'smtp://u:p@mail.example', smtp_tls: 'none' }
    expect(report([{ ...ACME, ...smtp }]).config?.refusals).toEqual([
      expect.stringMatching(/^Tenant acme: .*clear text/),
    ])
  })
})
