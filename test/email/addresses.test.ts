import { describe, expect, it } from 'vitest'
import { isAddress, isListed } from '../../src/core/address.ts'
import { Addresses } from '../../src/email/addresses.ts'

const PLUS = {
  mail_from: 'Gate@agents.example',
  mail_domain: 'agents.example',
  mail_addressing: 'plus',
  mail_agents: [],
} as const
const NAME = { ...PLUS, mail_addressing: 'name' } as const

describe('email addresses', () => {
  it.each(['a@b', 'a.b+c@d-e.example', "o'neil@x.example", `${'a'.repeat(64)}@x.example`])(
    '%s is an address',
    (text) => {
      expect(isAddress(text)).toBe(true)
    },
  )

  it.each([
    '',
    'a',
    '@b',
    'a@',
    'a@b@c',
    'a b@c',
    'a@b c',
    '.a@b',
    'a.@b',
    'a..b@c',
    'a@-b',
    'a@b-',
    'a@b..c',
    'a@b\n',
    'a\n@b',
    'a@b\r\nBcc: c@d',
    'é@b',
    'a@é',
    '"a"@b',
    'a@[127.0.0.1]',
    'a,b@c',
    '<a@b>',
    `${'a'.repeat(65)}@b`,
    `a@${'b'.repeat(300)}`,
  ])('%j is not an address', (text) => {
    expect(isAddress(text)).toBe(false)
  })

  it('an address is listed by itself, by its domain, or by *', () => {
    expect(isListed(['a@b.example'], 'A@B.example')).toBe(true)
    expect(isListed(['b.example'], 'a@b.example')).toBe(true)
    expect(isListed(['*'], 'a@b.example')).toBe(true)
    expect(isListed([], 'a@b.example')).toBe(false)
    expect(isListed(['b.example'], 'a@c.b.example')).toBe(false)
    expect(isListed(['b.example'], 'a@ab.example')).toBe(false)
  })
})

describe('addresses of agents', () => {
  it('the address has a tag after the plus, or a separate local part', () => {
    expect(new Addresses(PLUS).of('kee')).toBe('gate+kee@agents.example')
    expect(new Addresses(NAME).of('kee')).toBe('kee@agents.example')
  })

  it.each([PLUS, NAME])('an agent is found by its address in any case', (settings) => {
    const addresses = new Addresses(settings)
    for (const agent of ['kee', 'k', 'a.b-c_d', '7', 'x'.repeat(48)]) {
      const address = addresses.of(agent)
      expect(address).toSatisfy(isAddress)
      expect(addresses.agent(address?.toUpperCase() ?? '')).toBe(agent)
    }
  })

  it.each(['kee!', 'a b', '', '.a', 'a.', 'a..b', '-a', 'é', 'x'.repeat(49), 'a@b', 'a\nb'])(
    'an agent called %j has no address unless it is listed',
    (agent) => {
      expect(new Addresses(PLUS).of(agent)).toBeUndefined()
      expect(new Addresses(NAME).of(agent)).toBeUndefined()
    },
  )

  it("the address is lower case, whatever the case of the agent's name", () => {
    expect(new Addresses(PLUS).of('Kee')).toBe('gate+kee@agents.example')
    expect(new Addresses(NAME).of('HEXY')).toBe('hexy@agents.example')
  })

  it('listed agents have normalized addresses, and other agents have none', () => {
    const addresses = new Addresses({ ...NAME, mail_agents: ['Hexy', 'Kee 2'] })
    expect(addresses.of('Hexy')).toBe('hexy@agents.example')
    expect(addresses.agent('HEXY@agents.example')).toBe('Hexy')
    expect(addresses.agent(addresses.of('Kee 2') ?? '')).toBe('Kee 2')
    expect(addresses.of('hexy')).toBeUndefined()
    expect(addresses.of('bob')).toBeUndefined()
    expect(addresses.agent('bob@agents.example')).toBeUndefined()
  })

  it.each([
    'gate@agents.example',
    'kee@agents.example',
    'gate+kee@other.example',
    'gate+@agents.example',
    'x',
  ])("%s is not an agent's address with plus addressing", (address) => {
    expect(new Addresses(PLUS).agent(address)).toBeUndefined()
  })

  it("the address of the gate is not an agent's address", () => {
    expect(new Addresses(NAME).agent('gate@agents.example')).toBeUndefined()
  })
})
