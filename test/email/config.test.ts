import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { reportConfig } from '../../src/config/index.ts'

const report = (env: Readonly<Record<string, string>>) => {
  const prefixed = Object.entries(env).map(([name, value]) => [`ASYNCGATE_${name}`, value])
  return reportConfig({ env: Object.fromEntries(prefixed), file: '/dev/null' })
}
const FROM = { MAIL_FROM: 'Gate@Agents.example' }
const settingsOf = (env: Readonly<Record<string, string>>) => {
  const { config, problems } = report({ ...FROM, ...env })
  if (config === undefined) throw new Error(problems.join('\n'))
  return config.email
}

describe('email settings', () => {
  it('email is disabled without MAIL_FROM', () => {
    expect(report({}).config?.email).toBeNull()
  })

  it('the default domain is that of MAIL_FROM', () => {
    expect(settingsOf({})).toMatchObject({ mail_domain: 'agents.example', smtp: null, imap: null })
    expect(settingsOf({ MAIL_DOMAIN: 'Other.example' })).toMatchObject({ mail_domain: 'other.example' })
  })

  it.each([
    [{ SMTP_URL: 'smtps://a%40b:c%2Fd@mx.example' }, ['mx.example', 465, 'a@b', 'c/d', 'implicit']],
    [{ SMTP_URL: 'smtp://mx.example' }, ['mx.example', 587, null, null, 'starttls']],
    [{ SMTP_URL: 'smtp://[::1]:25', SMTP_TLS: 'none' }, ['::1', 25, null, null, 'none']],
    [{ SMTP_HOST: 'mx.example' }, ['mx.example', 587, null, null, 'starttls']],
    [
      {
        SMTP_HOST: 'mx.example',
        SMTP_PORT: '2525',
        SMTP_USER: 'u',
        SMTP_PASSWORD: 'p',
        SMTP_TLS: 'implicit',
      },
      ['mx.example', 2525, 'u', 'p', 'implicit'],
    ],
  ])('%j configures the SMTP server', (env, [host, port, user, password, tls]) => {
    expect(settingsOf(env)?.smtp).toEqual({ host, port, user, password, tls })
  })

  it('IMAP_URL configures the mailbox', () => {
    expect(settingsOf({ IMAP_URL: 'imaps://u:p@imap.example' })?.imap).toEqual({
      host: 'imap.example',
      port: 993,
      user: 'u',
      password: 'p',
      tls: 'implicit',
      poll_seconds: 60,
      inbox: 'INBOX',
      archive: 'Archive/Tasks',
      failed: 'Failed',
    })
    expect(settingsOf({ IMAP_URL: 'imap://u:p@imap.example' })?.imap).toMatchObject({
      port: 143,
      tls: 'starttls',
    })
  })

  it('MAIL_SENDERS lists addresses, domains or all', () => {
    const list = settingsOf({ MAIL_SENDERS: 'A@b.example, @C.example,d.example, *' })
    expect(list?.mail_senders).toEqual(['a@b.example', 'c.example', 'd.example', '*'])
    expect(settingsOf({ MAIL_AGENTS: 'Kee, Hexy 2' })?.mail_agents).toEqual(['Kee', 'Hexy 2'])
  })

  it.each([
    [{ SMTP_URL: 'smtp://h' }, 'SMTP_URL needs MAIL_FROM'],
    [{ IMAP_URL: 'imap://u:p@h' }, 'IMAP_URL needs MAIL_FROM'],
    [{ MAIL_WEBHOOK_SECRET: 's' }, 'MAIL_WEBHOOK_SECRET needs MAIL_FROM'],
    [{ ...FROM, SMTP_URL: 'smtp://h', SMTP_HOST: 'h' }, 'SMTP_URL and SMTP_HOST are both set'],
    [{ ...FROM, IMAP_URL: 'imap://h' }, 'IMAP_URL needs a user and a password'],
    [{ ...FROM, MAIL_AGENTS: 'Kee,kee' }, 'MAIL_AGENTS has Kee and kee, whose addresses would be the same.'],
    [{ MAIL_FROM: 'Gate <gate@x.example>' }, 'MAIL_FROM is not an address like gate@example.com'],
    [{ ...FROM, MAIL_DOMAIN: 'a b' }, 'MAIL_DOMAIN is not a domain like example.com'],
    [{ ...FROM, MAIL_SENDERS: 'not a domain' }, 'MAIL_SENDERS is not addresses and domains'],
    [{ ...FROM, SMTP_URL: 'https://h' }, 'SMTP_URL is not smtps://USER:PASSWORD@HOST'],
    [{ ...FROM, SMTP_URL: 'smtp://h/path' }, 'SMTP_URL is not smtps://USER:PASSWORD@HOST'],
    [{ ...FROM, SMTP_URL: 'smtp://a%zz@h' }, 'SMTP_URL is not smtps://USER:PASSWORD@HOST'],
    [
      { ...FROM, MAIL_SENDGRID_PUBLIC_KEY: 'AAAA' },
      'MAIL_SENDGRID_PUBLIC_KEY is not the public key in base64',
    ],
    [{ ...FROM, MAIL_CLAMD: 'localhost:3310' }, 'MAIL_CLAMD is not tcp://HOST:PORT or unix:PATH'],
    [{ ...FROM, MAIL_MAX_BYTES: '10' }, 'MAIL_MAX_BYTES is not a whole number from 1024'],
  ])('%j is refused with the reason', (env, expectedMessage) => {
    const { problems, config } = report(env)
    expect(config).toBeUndefined()
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(expectedMessage)
  })

  it('the public key is accepted as SendGrid shows it', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
    expect(settingsOf({ MAIL_SENDGRID_PUBLIC_KEY: key })).toMatchObject({ mail_sendgrid_public_key: key })
  })

  it.each([
    [{ SMTP_URL: 'smtp://u:p@mx.example', SMTP_TLS: 'none' }, 'ASYNCGATE_SMTP_TLS is none'],
    [{ IMAP_URL: 'imap://u:p@mx.example', IMAP_TLS: 'none' }, 'ASYNCGATE_IMAP_TLS is none'],
  ])('a password without TLS is refused: %j', (env, expectedMessage) => {
    const { config } = report({ ...FROM, ...env })
    expect(config?.refusals).toEqual([expect.stringContaining(expectedMessage)])
    expect(config?.refusals[0]).not.toContain(':p@')
  })

  it('a password without TLS is accepted on loopback', () => {
    const { config } = report({ ...FROM, SMTP_URL: 'smtp://u:p@127.0.0.1:25', SMTP_TLS: 'none' })
    expect(config?.refusals).toEqual([])
  })

  it('passwords are not shown', () => {
    const { lines, problems } = report({
      ...FROM,
      SMTP_URL: 'smtp://user:pa55word@mx.example/x',
      IMAP_URL: 'imap://user:pa55word@mx.example',
      SMTP_PASSWORD: 'pa55word',
      MAIL_WEBHOOK_SECRET: 'pa55word',
    })
    expect(JSON.stringify([lines, problems])).not.toContain('pa55word')
  })
})
