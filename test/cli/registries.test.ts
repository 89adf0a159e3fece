import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cli, folder, type Server, startServer, testFolder } from './support.ts'

const TYPES = `
- type: summarise
  description: Summarises a text.
  payload_schema:
    type: object
    required: [text]
    properties:
      text: { type: string }
  tool: {}
- type: render
  default_priority: 3
`

let home: string
let server: Server
beforeAll(async () => {
  home = folder()
  writeFileSync(join(home, 'types.yaml'), TYPES)
  server = await startServer(['dev', '--no-demo'], home, {
    ASYNCGATE_TASK_TYPES_FILE: 'types.yaml',
    // An embedded scheduler would publish the types of its control tasks.
    ASYNCGATE_SCHEDULER: 'external',
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

describe('asyncgate types', () => {
  it('list and show print the types of the file that the server was started with', async () => {
    const table = await say('types', 'list')
    expect(table).toMatch(/^render +registered +0 +yes *$/m)
    expect(table).toMatch(/^summarise +registered +0 +yes +yes +summarise +Summarises a text\.$/m)
    const { task_types } = await answer('types', 'list')
    expect(task_types).toMatchObject([{ type: 'render', default_priority: 3 }, { type: 'summarise' }])
    expect(await answer('types', 'show', 'summarise')).toMatchObject({ tool: {}, version: 1 })
    expect(await say('types', 'show', 'summarise')).toMatch(/payload_schema\n\{\n {2}"type": "object"/)
  })

  it('register accepts the types of a file, in YAML or JSON', async () => {
    const file = join(testFolder(), 'more.json')
    writeFileSync(file, JSON.stringify([{ type: 'a/b c', retention_days: 3 }]))
    expect(await say('types', 'register', file)).toBe('a/b c is registered (version 1)\n')
    expect(await answer('types', 'show', 'a/b c')).toMatchObject({ retention_days: 3 })
    expect(await say('types', 'remove', 'a/b c')).toBe('a/b c is removed\n')
    expect(await ask('types', 'remove', 'a/b c')).toMatchObject({ code: 3 })
    expect(await ask('types', 'show', 'a/b c')).toMatchObject({ code: 3 })
  })

  it('disable and enable change nothing else of a type', async () => {
    const before = await answer('types', 'show', 'summarise')
    expect(await say('types', 'disable', 'summarise')).toBe('summarise is disabled\n')
    const refused = await ask('tasks', 'create', 'summarise', '--payload', '{"text":"x"}')
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('TASK_TYPE_DISABLED') })
    expect(await say('types', 'enable', 'summarise')).toBe('summarise is enabled\n')
    const { version, updated_at: _, ...after } = await answer('types', 'show', 'summarise')
    expect({ ...before, version }).toMatchObject(after)
    const wrong = await ask('tasks', 'create', 'summarise', '--payload', '{"text":7}')
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('payload.text: must be string') })
  })

  it('types remove requires the admin role', async () => {
    expect(await ask('types', 'remove', 'render', '--as', 'agent:alice')).toMatchObject({ code: 4 })
  })
})

describe('types files', () => {
  it.each([
    ['- type: [', 'is not YAML or JSON'],
    ['type: a', 'is not a list of task types'],
    ['- a', '[0] is not a task type'],
    ['- type: a\n- colour: red', '[1] type: '],
    ['- type: a\n- type: a', 'has task type a twice'],
    ['- type: a\n  payload_schema: {type: objct}', '[0] (a) payload_schema: is not a JSON Schema 2020-12'],
  ])('the types file %j prevents the start of a server, and doctor reports it', async (content, problem) => {
    const place = testFolder()
    const file = join(place, 'types.yaml')
    writeFileSync(file, content)
    const env = {
      ASYNCGATE_TASK_TYPES_FILE: file,
      ASYNCGATE_DATABASE_URL: `sqlite:${join(place, 'a.db')}`,
      ASYNCGATE_PORT: '0',
    }
    const start = await cli(['dev'], env)
    expect(start.code).toBe(2)
    expect(start.stderr).toContain(`${file} ${problem}`)
    const doctor = await cli(['doctor', '--json'], env)
    expect(JSON.parse(doctor.stdout).checks).toContainEqual(
      expect.objectContaining({ check: 'types', ok: false, detail: expect.stringContaining(problem) }),
    )
  })

  it('register reports a file that does not exist', async () => {
    const { code, stderr } = await cli(['types', 'register', 'nowhere.yaml'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('cannot be read (ENOENT)') })
  })
})

describe('asyncgate workers', () => {
  it('workers drain and undrain a worker', async () => {
    const claim = async () => {
      const response = await fetch(`${server.url}/v1/leases/claim`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ worker_id: 'w/1' }),
      })
      return response.json()
    }
    expect(await ask('workers', 'drain', 'w/1')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('WORKER_NOT_FOUND'),
    })
    await claim()
    expect(await say('workers', 'drain', 'w/1')).toBe('w/1 is draining\n')
    expect(await claim()).toEqual({ tasks: [], drain: true })
    expect(await say('workers')).toMatch(/^w\/1 +idle, draining +0 +0 .* any$/m)
    expect(await say('workers', 'undrain', 'w/1')).toBe('w/1 receives tasks again\n')
    expect(await claim()).toEqual({ tasks: [] })
  })
})

describe('asyncgate principals', () => {
  it('export prints one record per line, and erase leaves nothing to export', async () => {
    await say('tasks', 'create', 'render', '--payload', '{"text":"diary"}', '--as', 'agent:alice')
    const lines = (await say('principals', 'export', 'agent:alice')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).kind)).toContain('task')
    expect(lines.join()).toContain('diary')
    expect(await say('principals', 'erase', 'agent:alice', '--yes')).toMatch(/^tasks erased +1$/m)
    expect(await answer('principals', 'erasure', 'agent:alice')).toMatchObject({ state: 'done', tasks: 1 })
    expect(await say('principals', 'export', 'agent:alice')).not.toContain('diary')
  })

  it('erase asks first, and refuses what is not a principal', async () => {
    expect(await ask('principals', 'erase', 'agent:alice')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    })
    expect(await ask('principals', 'erase', 'robot:alice', '--yes')).toMatchObject({ code: 2 })
    expect(await ask('principals', 'erasure', 'agent:nobody')).toMatchObject({ code: 3 })
  })
})
