import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cli, folder, type Server, startServer, testFolder } from './support.ts'

const POLICIES = `
rules:
  - id: no-delete
    action: BLOCK
    priority: 300
    scope: { tool: '*delete*' }
    description: Nothing is deleted by agents.
patterns:
  - name: plate
    pattern: '[A-Z]{2}-\\d+'
`

let home: string
let server: Server
beforeAll(async () => {
  home = folder()
  writeFileSync(join(home, 'policies.yaml'), POLICIES)
  server = await startServer(['dev'], home, {
    ASYNCGATE_POLICIES_FILE: 'policies.yaml',
    ASYNCGATE_UPSTREAM_DEFAULT: 'require_approval',
  })
})
afterAll(async () => {
  await server.stop()
  rmSync(home, { recursive: true, force: true })
})

const ask = (...args: string[]) => cli(args, { ASYNCGATE_URL: server.url })
const say = async (...args: string[]) => {
  const { code, stdout, stderr } = await ask(...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}
const answer = async (...args: string[]) => JSON.parse(await say(...args, '--json'))

describe('asyncgate policies', () => {
  it('list prints the rules of the file, which cannot be changed, and the defaults', async () => {
    const table = await say('policies', 'list')
    expect(table).toMatch(/^no-delete +300 +BLOCK +tool=\*delete\* +on +file$/m)
    expect(table).toContain('Otherwise: tasks ALLOW, calls of upstream tools REQUIRE_APPROVAL')
    const { code, stderr } = await ask('policies', 'set', 'no-delete', 'ALLOW')
    expect([code, stderr]).toEqual([2, expect.stringContaining("operator's file")])
    expect(await ask('policies', 'remove', 'no-delete')).toMatchObject({ code: 2 })
  })

  it('a rule can be set, shown, tested and removed', async () => {
    const condition = '{">": [{"var": "args.amount"}, 100]}'
    const set = ['policies', 'set', 'dear', 'require-approval', '--type', 'buy', '--when', condition]
    expect(await say(...set, '--priority', '200')).toMatch(/^action +REQUIRE_APPROVAL$/m)
    expect(await say('policies', 'show', 'dear')).toMatch(
      /^condition +\{">":\[\{"var":"args.amount"\},100\]\}$/m,
    )
    const tried = await say('policies', 'test', '--type', 'buy', '--args', '{"amount": 500}')
    expect(tried).toMatch(/^REQUIRE_APPROVAL: Rule dear says that this needs approval\.$/m)
    expect(tried).toMatch(/^dear +yes +it decides$/m)
    expect(await answer('policies', 'test', '--type', 'buy', '--args', '{"amount": 5}')).toMatchObject({
      action: 'ALLOW',
      rule_id: null,
    })
    for (const [variable, value, ...given] of [
      ['inputs.to', 'eve', '--inputs', '{"to": "eve"}'],
      ['body', 'Pay eve.', '--body', 'Pay eve.'],
      ['payload_pointer', 'https://eve.example', '--payload-pointer', 'https://eve.example'],
      ['requirements.tags.0', 'eve', '--requirements', '{"tags": ["eve"]}'],
    ] as const) {
      const when = JSON.stringify({ '==': [{ var: variable }, value] })
      await say('policies', 'set', 'eve', 'block', '--type', 'sell', '--when', when)
      const tested = await answer('policies', 'test', '--type', 'sell', ...given)
      expect(tested).toMatchObject({ action: 'BLOCK', rule_id: 'eve' })
      expect(await answer('policies', 'test', '--type', 'sell')).toMatchObject({ action: 'ALLOW' })
    }
    await say('policies', 'remove', 'eve')
    for (const option of ['--inputs', '--requirements']) {
      expect(await ask('policies', 'test', '--type', 'sell', option, 'no JSON')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`${option} is not JSON`),
      })
    }
    expect(await say('policies', 'remove', 'dear')).toBe('dear is removed\n')
    expect(await ask('policies', 'remove', 'dear')).toMatchObject({ code: 3 })
    expect(await ask('policies', 'show', 'dear')).toMatchObject({ code: 3 })
  })

  it('a BLOCK rule blocks a task', async () => {
    await say(
      'policies',
      'set',
      'no-render',
      'BLOCK',
      '--type',
      'render',
      '--description',
      'No more pictures',
    )
    const { code, stderr } = await ask('tasks', 'create', 'render')
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('No more pictures')])
    expect(code).not.toBe(0)
    await say('policies', 'remove', 'no-render')
  })

  it('test accepts the rules of a file', async () => {
    const file = join(testFolder(), 'rules.yaml')
    writeFileSync(file, '- { id: never, action: BLOCK }\n- { id: sometimes, action: ALLOW, priority: 1 }\n')
    expect(await answer('policies', 'test', '--type', 'x', '--rules', file)).toMatchObject({
      rule_id: 'sometimes',
    })
  })

  it('test prints the redacted fields', async () => {
    const set = [
      'policies',
      'set',
      'plates',
      'REDACT',
      '--redact',
      'both',
      '--pattern',
      'plate',
      '--path',
      '$.card',
    ]
    expect(await say(...set)).toMatch(/^redacts +both: \$\.card, plate$/m)
    const tried = await say('policies', 'test', '--type', 'x', '--args', '{"card": 1, "car": "XY-12"}')
    expect(tried).toContain('redacted   /card, /car')
    expect(tried).toContain('args       {"card":"[REDACTED]","car":"[REDACTED]"}')
    expect(tried).toContain('The result would be redacted, too.')
    await say('policies', 'remove', 'plates')
    expect(await ask('policies', 'set', 'x', 'REDACT', '--path', '$.a')).toMatchObject({ code: 2 })
  })

  it('redaction patterns can be listed, set and removed', async () => {
    expect(await say('policies', 'patterns')).toMatch(/^plate +on +file +\[REDACTED\] +\[A-Z\]\{2\}-\\d\+$/m)
    await say('policies', 'set-pattern', 'badge', 'B\\d{4}', '--replacement', '(badge)')
    expect(await say('policies', 'patterns')).toMatch(/^badge +on +api +\(badge\)/m)
    expect(await ask('policies', 'set-pattern', 'bad', '(?=x)')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no look-arounds'),
    })
    expect(await say('policies', 'remove-pattern', 'badge')).toBe('badge is removed\n')
    expect(await ask('policies', 'remove-pattern', 'badge')).toMatchObject({ code: 3 })
  })

  it('policies requires the admin role', async () => {
    expect(await ask('policies', 'list', '--as', 'agent:alice')).toMatchObject({ code: 4 })
  })
})

describe('policies files', () => {
  it.each([
    ['rules: [', 'is not YAML or JSON'],
    ['rules: 5', 'has rules that are not a list'],
    ['policies: []', 'has policies beside rules and patterns'],
    ['- { id: a, action: NO }', 'rules[0] (a) action'],
    ['- { id: a, action: ALLOW }\n- { id: a, action: BLOCK }', 'has rule a twice'],
    ['- { id: a, action: ALLOW, condition: { nonsense: 1 } }', 'has the unknown operator "nonsense"'],
    ['- { id: a, action: REDACT, redact: { targets: args, patterns: [b] } }', 'names the unknown pattern b'],
    ['patterns: [{ name: a, pattern: "(" }]', 'patterns[0] (a) pattern'],
    ['patterns: [{ name: email, pattern: x }]', 'which is built in'],
  ])('an invalid policies file prevents the start of a server: %j', async (text, problem) => {
    const file = join(testFolder(), 'policies.yaml')
    writeFileSync(file, text)
    const ended = await cli(['serve', '--port', '0'], {
      ASYNCGATE_DATABASE_URL: 'sqlite::memory:',
      ASYNCGATE_POLICIES_FILE: file,
    })
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) })
    expect(ended.stderr).toContain('docs/policy.md')
    const doctor = await cli(['doctor', '--json'], { ASYNCGATE_POLICIES_FILE: file, ASYNCGATE_PORT: '0' })
    expect(JSON.parse(doctor.stdout).checks).toContainEqual(
      expect.objectContaining({ check: 'policies', ok: false, detail: expect.stringContaining(problem) }),
    )
  })
})
