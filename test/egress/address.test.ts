import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kindOf } from '../../src/egress/address.ts'
import { Networks } from '../../src/util/networks.ts'

describe('kindOf', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:4860:4860::8888',
    '2606:4700:4700::1111',
    '2a00:1450:4001:801::200e',
  ])('%s is public', (address) => {
    expect(kindOf(address)).toBe('public')
  })

  it.each([
    '10.0.0.0',
    '10.255.255.255',
    '100.64.0.0',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '::1',
    '0:0:0:0:0:0:0:1',
    'fc00::1',
    'fdff:ffff::1',
  ])('%s is private', (address) => {
    expect(kindOf(address)).toBe('private')
  })

  it.each([
    ['this network', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['link-local, with the metadata of clouds', '169.254.169.254'],
    ['IETF assignments, with the metadata of Oracle', '192.0.0.192'],
    ['the metadata of Alibaba, in the shared range', '100.100.100.200'],
    ['the metadata of Azure, at a public address', '168.63.129.16'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['the relays of 6to4', '192.88.99.1'],
    ['benchmarks', '198.18.0.1'],
    ['benchmarks', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['multicast', '239.255.255.255'],
    ['future use', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['IPv4-mapped loopback', '::ffff:127.0.0.1'],
    ['IPv4-mapped loopback, in hex', '::ffff:7f00:1'],
    ['IPv4-mapped, with a public address inside', '::ffff:8.8.8.8'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['IPv4-translated', '::ffff:0:127.0.0.1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64, with a public address inside', '64:ff9b::808:808'],
    ['local NAT64', '64:ff9b:1::7f00:1'],
    ['discard', '100::1'],
    ['6to4', '2002:7f00:1::1'],
    ['Teredo', '2001:0:4136:e378::1'],
    ['ORCHID', '2001:20::1'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['segment routing', '5f00::1'],
    ['link-local', 'fe80::1'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['the metadata of AWS, in the private range', 'fd00:ec2::254'],
    ['an address with a zone', 'fe80::1%eth0'],
    ['a public address with a zone', '2606:4700:4700::1111%eth0'],
    ['an invalid address', 'localhost'],
    ['an invalid address', '127.1'],
    ['an invalid address', ''],
  ])('an address for %s (%s) is reserved', (_, address) => {
    expect(kindOf(address)).toBe('reserved')
  })

  it('an IPv6 address that embeds an IPv4 address is never public', () => {
    const forms = [
      (v4: string) => `::ffff:${v4}`,
      (v4: string) => `::${v4}`,
      (v4: string) => `64:ff9b::${v4}`,
      (v4: string) => `::ffff:0:${v4}`,
    ]
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom(...forms), (v4, form) => {
        expect(kindOf(form(v4))).not.toBe('public')
      }),
    )
  })
})

describe('networks', () => {
  it('networks contain exactly the addresses inside', () => {
    const networks = new Networks(['10.1.0.0/16', '192.168.7.7', 'fd00::/8'])
    expect(['10.1.0.0', '10.1.255.255', '192.168.7.7', 'fd12::1'].map((a) => networks.has(a))).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(['10.2.0.0', '10.0.255.255', '192.168.7.8', 'fc00::1'].some((a) => networks.has(a))).toBe(false)
  })

  it('networks distinguish an IPv4 address from its IPv4-mapped form', () => {
    expect(new Networks(['127.0.0.1']).has('::ffff:127.0.0.1')).toBe(false)
    expect(new Networks(['::ffff:127.0.0.1']).has('127.0.0.1')).toBe(false)
    expect(new Networks(['::ffff:127.0.0.1']).has('::ffff:7f00:1')).toBe(true)
  })

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    'fe80::1%eth0',
    '::/129',
    'x',
    '1.1.1.1/-1',
  ])('the network %s is refused', (text) => {
    expect(() => new Networks([text])).toThrow(`"${text}" is not an address or a network`)
  })
})
