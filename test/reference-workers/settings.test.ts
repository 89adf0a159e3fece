import { describe, expect, it } from 'vitest'
import { loadConfig, reportConfig } from '../../src/config/index.ts'
import { egressOf } from '../../src/server/egress.ts'

function values(env: Readonly<Record<string, string>>) {
  return loadConfig({ env, file: '/dev/null' }).server
}

function problemsOf(env: Readonly<Record<string, string>>): string {
  return reportConfig({ env, file: '/dev/null' }).problems.join('\n')
}

describe('egress settings', () => {
  it('the default permits https to public addresses only', () => {
    expect(egressOf(values({}))).toEqual({ allow_http: false, allowed_ports: 'default', allowed_private: [] })
  })

  it('the settings extend what is permitted', () => {
    const env = {
      ASYNCGATE_EGRESS_ALLOW_HTTP: 'true',
      ASYNCGATE_EGRESS_PORTS: '443, 8443',
      ASYNCGATE_EGRESS_PRIVATE: 'wiki.corp, 10.1.0.0/16, fd00::1',
    }
    expect(egressOf(values(env))).toEqual({
      allow_http: true,
      allowed_ports: [443, 8443],
      allowed_private: ['wiki.corp', '10.1.0.0/16', 'fd00::1'],
    })
    expect(egressOf(values({ ASYNCGATE_EGRESS_PORTS: 'any' })).allowed_ports).toBe('any')
  })

  it.each([
    ['EGRESS_PORTS', '0', 'is not port numbers'],
    ['EGRESS_PORTS', '443,,80', 'is not port numbers'],
    ['EGRESS_PORTS', '70000', 'is not port numbers'],
    ['EGRESS_PORTS', 'https', 'is not port numbers'],
    ['EGRESS_PRIVATE', 'http://wiki.corp', 'is not host names, addresses or networks'],
    ['EGRESS_PRIVATE', '*', 'is not host names, addresses or networks'],
    ['EGRESS_MAX_BYTES', '0', 'is not a whole number'],
    ['COMMANDS', '/bin/date', 'is not a JSON object of commands by name'],
    ['COMMANDS', '["/bin/date"]', 'is not a JSON object of commands by name'],
    ['COMMANDS', '{"date": 7}', 'is not a JSON object of commands by name'],
    ['COMMAND_TIMEOUT_SECONDS', '0', 'is not a whole number'],
  ])('%s=%s is refused', (name, value, said) => {
    expect(problemsOf({ [`ASYNCGATE_${name}`]: value })).toContain(`ASYNCGATE_${name} ${said}`)
  })

  it('an invalid network is reported', () => {
    const env = { ASYNCGATE_EGRESS_PRIVATE: 'wiki.corp,10.0.0.0/64' }
    expect(() => egressOf(values(env))).toThrow(
      'EGRESS_PRIVATE: "10.0.0.0/64" is not an address or a network',
    )
  })
})

describe('command settings', () => {
  it('ASYNCGATE_COMMANDS is JSON in the environment', () => {
    const commands = { date: '/bin/date', say: ['/bin/echo', 'two words', '...'] }
    expect(values({ ASYNCGATE_COMMANDS: JSON.stringify(commands) }).commands).toEqual(commands)
    expect(values({}).commands).toEqual({})
  })
})
