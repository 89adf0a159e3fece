import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import {
  type JsonSchema,
  type StandardSchema,
  task,
  type WorkerOptions,
  worker,
} from '../../src/worker/index.ts'
import { type PublishedType, publishedType } from '../../src/worker/publication.ts'
import { KEY, type Served, serveGate, servers } from '../http/support.ts'
import { admin, agent, describeGates } from '../support/gates.ts'
import { refusal } from '../support/steps.ts'
import { eventually } from './support.ts'

const AUTH = { api_key: KEY, allow_insecure_dev: false }
const MODES = [
  ['insecure development', { api_key: null, allow_insecure_dev: true }],
  ['a shared key', AUTH],
  ['a shared key beside keys of admins', { ...AUTH, admin_keys: { ann: 'the-key-of-ann' } }],
] as const
const REGISTER = /\/workers\/register$/

const run = () => 'done'

/** A logger that records warnings. */
function recorder() {
  const lines: { readonly message: string; readonly fields: object }[] = []
  const ignore = () => {}
  const warn = (fields: object, message: string) => lines.push({ fields, message })
  return { lines, logger: { debug: ignore, info: ignore, warn, error: warn } }
}

describeGates('publication by SDK workers', (open, storeName) => {
  const serve = servers(open)

  const start = (
    served: Pick<Served, 'url'>,
    options: Pick<WorkerOptions, 'tasks'> & Partial<WorkerOptions>,
  ) => {
    const started = worker({
      url: served.url,
      key: KEY,
      logger: false,
      signals: false,
      pollSeconds: 1,
      ...options,
    })
    const ended = started.run()
    ended.catch(() => {})
    onTestFinished(() => started.kill())
    return started
  }

  const digest = task('digest', {
    description: 'Makes a digest.',
    input: z.object({ page: z.url().describe('The page'), words: z.int().default(100) }),
    output: z.object({ text: z.string() }),
    run: () => ({ text: '' }),
  })

  const typesOf = async ({ gate }: Pick<Served, 'gate'>) => (await gate.listTaskTypes(agent())).task_types

  it.each(MODES)('a worker publishes its types, and the server enforces them, with %s', async (_, auth) => {
    const served = await serve({ auth, realTime: true })
    start(served, { tasks: [digest, task('plain', { run })], workerId: 'w1' })
    // The types are published before the first claim, which makes the worker live.
    const live = async () => (await typesOf(served)).filter(({ live_workers }) => live_workers === 1)
    await eventually(async () => (await live()).length === 2)
    expect(await typesOf(served)).toMatchObject([
      {
        type: 'digest',
        description: 'Makes a digest.',
        payload_schema: {
          type: 'object',
          required: ['page'],
          properties: { page: { type: 'string', description: 'The page' }, words: { default: 100 } },
        },
        output_schema: { properties: { text: { type: 'string' } } },
        published_by: 'worker',
        live_workers: 1,
      },
      { type: 'plain', payload_schema: null },
    ])
    const wrong = served.gate.createTask(agent(), { type: 'digest', payload: { page: 1 } })
    expect(await refusal(wrong)).toMatchObject({ details: { path: 'payload.page' } })
    const { task_id } = await served.gate.createTask(agent(), {
      type: 'digest',
      payload: { page: 'https://a.example' },
    })
    await eventually(async () => (await served.gate.getTask(agent(), { task_id })).status === 'succeeded')
  })

  it('a worker with a random name withdraws its types when it stops', async () => {
    const served = await serve({ auth: AUTH, realTime: true })
    const started = start(served, { tasks: [digest] })
    await eventually(async () => (await typesOf(served)).length === 1)
    await started.stop()
    expect(await typesOf(served)).toEqual([])
  })

  it('a worker registers with the version of its program', async () => {
    const served = await serve({ auth: AUTH, realTime: true })
    start(served, { tasks: [digest], workerId: 'w1', version: '3.1.4' })
    await eventually(async () => (await typesOf(served)).length === 1)
    const { workers } = await served.gate.listWorkers(admin(), {})
    expect(workers).toMatchObject([{ worker_id: 'w1', version: '3.1.4' }])
  })

  it('what the server refuses is omitted with one log line, and the worker works', async () => {
    const served = await serve({ auth: AUTH, realTime: true })
    const { lines, logger } = recorder()
    const strange = task('strange', {
      description: 'Stays.',
      input: z.object({ name: z.string().regex(/^(?!admin)/) }),
      run,
    })
    const own = task('asyncgate.mine', { run })
    start(served, { tasks: [strange, own], logger })
    await eventually(async () => (await typesOf(served)).length === 1)
    expect(await typesOf(served)).toMatchObject([
      { type: 'strange', description: 'Stays.', payload_schema: null },
    ])
    expect(lines.map(({ fields }) => fields)).toMatchObject([
      { type: 'asyncgate.mine', field: 'type' },
      { type: 'strange', field: 'input_schema' },
    ])
    const { task_id } = await served.gate.createTask(agent(), { type: 'strange', payload: { name: 'x' } })
    await eventually(async () => (await served.gate.getTask(agent(), { task_id })).status === 'succeeded')
  })

  it('a schema that the server refuses once is published', async () => {
    const served = await serve({ auth: AUTH, realTime: true })
    let refusals = 0
    const busy: typeof fetch = (input, init) => {
      if (!String(input).endsWith('/v1/workers/register') || ++refusals > 1) return fetch(input, init)
      const path = 'task_types.0.input_schema'
      const body = {
        code: 'VALIDATION_ERROR',
        message: `${path}: takes too long to compile`,
        details: { path },
      }
      return Promise.resolve(Response.json(body, { status: 400 }))
    }
    start(served, { tasks: [digest], fetch: busy })
    await eventually(async () => (await typesOf(served)).length === 1)
    expect(refusals).toBeGreaterThan(1)
    expect(await typesOf(served)).toMatchObject([{ type: 'digest', payload_schema: { type: 'object' } }])
  })

  it('a worker publishes its types again at a server that does not know them', async () => {
    const first = await serve({ auth: AUTH, realTime: true })
    const second = await serve({ auth: AUTH, realTime: true })
    let url = first.url
    const moved: typeof fetch = (input, init) => fetch(String(input).replace(first.url, url), init)
    start(first, { tasks: [digest], fetch: moved })
    await eventually(async () => (await typesOf(first)).length === 1)
    url = second.url
    await first.stop()
    await eventually(async () => (await typesOf(second)).length === 1, 20)
  })

  it.runIf(storeName === 'postgres')('types are visible on every server of the database', async () => {
    const options = { auth: AUTH, realTime: true }
    const first = await serve(options)
    const bench = await first.another(options)
    await serveGate(bench.gate, options)
    start(first, { tasks: [digest] })
    await eventually(async () => (await typesOf(bench)).length === 1)
  })

  it('a worker publishes nothing with publish false', async () => {
    const served = await serve({ auth: AUTH, realTime: true })
    const paths: string[] = []
    const spied: typeof fetch = (input, init) => {
      paths.push(new URL(input instanceof Request ? input.url : input).pathname)
      return fetch(input, init)
    }
    start(served, { tasks: [digest], publish: false, fetch: spied })
    await eventually(() => paths.some((path) => path.endsWith('/claim')))
    expect(paths.filter((path) => REGISTER.test(path))).toEqual([])
  })
})

describe('the published schema of a task', () => {
  const published = (options: object, tools?: boolean): PublishedType & { omitted: string[] } => {
    const omitted: string[] = []
    const definition = task('job', { ...options, run })
    return { ...publishedType(definition, tools, ({ field }) => omitted.push(field)), omitted }
  }
  const inputOf = (input: StandardSchema) => published({ input }).input_schema

  it('the JSON Schema of zod accepts what zod accepts', () => {
    const schema = inputOf(
      z.object({
        coerced: z.coerce.number(),
        caught: z.number().catch(0),
        prepared: z.preprocess(Number, z.number()),
        flagged: z.string().regex(/^a$/i),
        plain: z.string().regex(/^a$/),
        date: z.date().optional(),
        named: z.string().meta({ id: 'Named' }),
      }),
    )
    expect(schema).toMatchObject({
      properties: {
        coerced: {},
        caught: {},
        prepared: {},
        flagged: { type: 'string' },
        plain: { type: 'string', pattern: '^a$' },
        date: {},
      },
      required: ['flagged', 'plain', 'named'],
    })
    expect(JSON.stringify(schema)).not.toMatch(/"id"|"number"/)
    expect(Reflect.get(Object(schema?.properties), 'flagged')).not.toHaveProperty('pattern')
  })

  it('a transformed field is described as it is sent', () => {
    const length = z.object({ text: z.string().transform((text) => text.length) })
    expect(inputOf(length)).toMatchObject({ properties: { text: { type: 'string' } } })
    expect(published({ output: length }).output_schema).toMatchObject({ properties: { text: {} } })
  })

  it('any Standard JSON Schema is converted', () => {
    const asked: unknown[] = []
    const convert = (side: string) => (options: object) => {
      asked.push([side, options])
      return { title: side }
    }
    const schema: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'mine',
        validate: (value) => ({ value }),
        jsonSchema: { input: convert('input'), output: convert('output') },
      },
    }
    expect(published({ input: schema, output: schema })).toMatchObject({
      input_schema: { title: 'input' },
      output_schema: { title: 'output' },
      omitted: [],
    })
    const options = { target: 'draft-2020-12' }
    expect(asked).toEqual([
      ['input', options],
      ['output', options],
    ])
  })

  it('a schema that cannot be converted is omitted', () => {
    const plain: StandardSchema = {
      '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value }) },
    }
    expect(published({ input: plain })).toMatchObject({ input_schema: undefined, omitted: ['input_schema'] })
  })

  it('explicit schemas take precedence, and false publishes none', () => {
    const inputSchema: JsonSchema = { type: 'object' }
    expect(
      published({ input: z.string(), inputSchema, outputSchema: false, output: z.string() }),
    ).toMatchObject({
      input_schema: inputSchema,
      output_schema: undefined,
      omitted: [],
    })
  })

  it('the task decides whether it is a tool, else the worker', () => {
    expect(published({ tool: false }, true).tool).toBe(false)
    expect(published({ tool: { name: 'x' } }, false).tool).toEqual({ name: 'x' })
    expect(published({}, false).tool).toBe(false)
    expect(published({}).tool).toBeUndefined()
  })
})
