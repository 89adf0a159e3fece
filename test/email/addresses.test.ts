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

describe('an address', () => {
  it.each(['a@b', 'a.b+c@d-e.example', "o'neil@x.example", `${'a'.repeat(64)}@x.example`])(
    '%s is one',
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
  ])('%j is none', (text) => {
    expect(isAddress(text)).toBe(false)
  })

  it('is listed by itself, by its domain, or with everybody', () => {
    expect(isListed(['a@b.example'], 'A@B.example')).toBe(true)
    expect(isListed(['b.example'], 'a@b.example')).toBe(true)
    expect(isListed(['*'], 'a@b.example')).toBe(true)
    expect(isListed([], 'a@b.example')).toBe(false)
    expect(isListed(['b.example'], 'a@c.b.example')).toBe(false)
    expect(isListed(['b.example'], 'a@ab.example')).toBe(false)
  })
})

describe('an agent', () => {
  it('has a tag after the plus, or a separate name', () => {
    expect(new Addresses(PLUS).of('kee')).toBe('gate+kee@agents.example')
    expect(new Addresses(NAME).of('kee')).toBe('kee@agents.example')
  })

  it.each([PLUS, NAME])('is found by its address again, in whatever case it is written', (settings) => {
    const addresses = new Addresses(settings)
    for (const agent of ['kee', 'k', 'a.b-c_d', '7', 'x'.repeat(48)]) {
      const address = addresses.of(agent)
      expect(address).toSatisfy(isAddress)
      expect(addresses.agent(address?.toUpperCase() ?? '')).toBe(agent)
    }
  })

  it.each(['kee!', 'a b', '', '.a', 'a.', 'a..b', '-a', 'é', 'x'.repeat(49), 'a@b', 'a\nb'])(
    'that is called %j has none, unless it is listed',
    (agent) => {
      expect(new Addresses(PLUS).of(agent)).toBeUndefined()
      expect(new Addresses(NAME).of(agent)).toBeUndefined()
    },
  )

  it('has an address in lower case, whatever the case of its name', () => {
    expect(new Addresses(PLUS).of('Kee')).toBe('gate+kee@agents.example')
    expect(new Addresses(NAME).of('HEXY')).toBe('hexy@agents.example')
  })

  it('that is listed has one under its name without case and odd characters; others then have none', () => {
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
  ])('is not what %s names where agents are tags', (address) => {
    expect(new Addresses(PLUS).agent(address)).toBeUndefined()
  })

  it('is not the gate itself', () => {
    expect(new Addresses(NAME).agent('gate@agents.example')).toBeUndefined()
  })
})
