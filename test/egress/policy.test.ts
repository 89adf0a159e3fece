import { describe, expect, it } from 'vitest'
import { Policy } from '../../src/egress/policy.ts'
import { DEFAULT_EGRESS, type EgressSettings } from '../../src/egress/settings.ts'

function policy(settings: Partial<EgressSettings> = {}): Policy {
  return new Policy({ ...DEFAULT_EGRESS, ...settings })
}

const anyHttp = policy({ allow_http: true, allowed_ports: 'any' })

function reasonFor(url: string, by = anyHttp): string | undefined {
  const verdict = by.checkUrl(url)
  return verdict.allowed ? undefined : verdict.reason
}

describe('checkUrl', () => {
  it('a URL must be https on port 443 unless the settings allow more', () => {
    expect(reasonFor('https://site.example/a?b#c', policy())).toBeUndefined()
    expect(reasonFor('https://8.8.8.8/', policy())).toBeUndefined()
    expect(reasonFor('http://site.example', policy())).toBe('http: is not allowed')
    expect(reasonFor('https://site.example:8443', policy())).toBe('port 8443 is not allowed')
    const http = policy({ allow_http: true })
    expect(reasonFor('http://site.example', http)).toBeUndefined()
    expect(reasonFor('http://site.example:443', http)).toBe('port 443 is not allowed')
    expect(reasonFor('https://site.example:80', http)).toBe('port 80 is not allowed')
    const both = policy({ allow_http: true, allowed_ports: [80, 443] })
    expect(reasonFor('http://site.example', both)).toBeUndefined()
    expect(reasonFor('http://site.example:22', both)).toBe('port 22 is not allowed')
  })

  it.each([
    ['file:///etc/passwd', 'file: is not allowed'],
    ['ftp://site.example/', 'ftp: is not allowed'],
    ['gopher://site.example:70/', 'gopher: is not allowed'],
    ['data:text/plain,hello', 'data: is not allowed'],
    ['javascript:alert(1)', 'javascript: is not allowed'],
    ['ws://site.example', 'ws: is not allowed'],
    ['https://user@site.example/', 'it contains a user name or a password'],
    ['https://:secret@site.example/', 'it contains a user name or a password'],
    ['https://site.example@127.0.0.1/', 'it contains a user name or a password'],
    ['site.example', 'it is not a URL'],
    ['', 'it is not a URL'],
    ['https://', 'it is not a URL'],
    ['http://[fe80::1%25eth0]/', 'it is not a URL'],
    [`https://site.example/${'x'.repeat(8_192)}`, 'it is longer than 8192 characters'],
    ['https://./', 'it has no host'],
  ])('%.40s is refused: %s', (url, reason) => {
    expect(reasonFor(url)).toBe(reason)
  })

  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0177.0.0.1/',
    'http://127.0.0.1./',
    'http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/',
    'http://\u2460\u2461\u2466.1/',
    'http:\\\\127.0.0.1\\',
    'http:/127.0.0.1/',
    'http:127.0.0.1/',
    ' http://127.0.0.1/ ',
    'ht\ntp://127.0.0.1/',
  ])('%j is recognized as 127.0.0.1', (url) => {
    expect(reasonFor(url)).toBe('127.0.0.1 is at 127.0.0.1, which is private')
  })

  it.each([
    'http://0/',
    'http://0.0.0.0/',
    'http://169.254.169.254/latest/meta-data/',
    'http://0xa9fea9fe/',
    'http://[::]/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://[ff02::1]/',
    'http://10.0.0.1/',
    'http://100.64.0.1/',
    'http://172.16.0.1/',
    'http://192.168.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
  ])('%s names an address that is not public', (url) => {
    expect(reasonFor(url)).toMatch(/which is (private|reserved)$/)
  })

  it('a trailing dot of the host is removed', () => {
    const verdict = anyHttp.checkUrl('https://Site.Example./')
    expect(verdict).toMatchObject({ allowed: true, value: { host: 'site.example', port: 443 } })
  })
})

describe('checkAddresses', () => {
  const host = { host: 'site.example' }

  it('all addresses of a host must be public', () => {
    expect(policy().checkAddresses(host, ['8.8.8.8', '2606:4700:4700::1111']).allowed).toBe(true)
    expect(policy().checkAddresses(host, ['8.8.8.8', '10.0.0.1'])).toEqual({
      allowed: false,
      reason: 'site.example is at 10.0.0.1, which is private',
    })
    expect(policy().checkAddresses(host, ['8.8.8.8', '::ffff:8.8.4.4']).allowed).toBe(false)
    expect(policy().checkAddresses(host, ['not an address']).allowed).toBe(false)
    expect(policy().checkAddresses(host, []).allowed).toBe(false)
  })

  it('hosts named by the operator may be private but not reserved', () => {
    const intranet = policy({ allowed_private: ['Wiki.Corp.', 'localhost'] })
    expect(intranet.checkAddresses({ host: 'wiki.corp' }, ['10.0.0.1', 'fd00::1']).allowed).toBe(true)
    expect(intranet.checkAddresses({ host: 'localhost' }, ['127.0.0.1', '::1']).allowed).toBe(true)
    expect(intranet.checkAddresses({ host: 'wiki.corp' }, ['169.254.169.254']).allowed).toBe(false)
    expect(intranet.checkAddresses({ host: 'wiki.corp' }, ['100.100.100.200']).allowed).toBe(false)
    expect(intranet.checkAddresses({ host: 'evil.wiki.corp' }, ['10.0.0.1']).allowed).toBe(false)
    expect(intranet.checkUrl('https://10.0.0.1/').allowed).toBe(false)
  })

  it('networks named by the operator are allowed for every host', () => {
    const intranet = policy({ allowed_private: ['10.1.0.0/16', '169.254.7.7', 'fd00:1::/32'] })
    const allowed = ['10.1.2.3', '169.254.7.7', 'fd00:1::1'].map(
      (address) => intranet.checkAddresses(host, [address]).allowed,
    )
    expect(allowed).toEqual([true, true, true])
    const refused = ['10.2.0.0', '169.254.169.254', 'fd00:2::1', '::ffff:10.1.2.3'].map(
      (address) => intranet.checkAddresses(host, [address]).allowed,
    )
    expect(refused).toEqual([false, false, false, false])
  })

  it.each(['10.0.0.0/99', 'http://wiki.corp', '*.corp', 'wiki.corp:80', '127.1', '0x7f000001', ''])(
    'the entry %j of allowed_private is refused',
    (entry) => {
      expect(() => policy({ allowed_private: [entry] })).toThrow('is not an address or a network')
    },
  )
})
