import { expect, it } from 'vitest'
import type { Gate } from '../../src/features/gate.ts'
import { admin, describeGates, worker } from '../support/gates.ts'
import { actionsOf, servePages, type Visitor, viewerOf, wordsOf } from './support.ts'

const HOSTILE = `h"><script>alert(1)</script>\u202E`

const SCHEMA = {
  type: 'object',
  required: ['document', 'formal'],
  additionalProperties: false,
  properties: {
    document: { type: 'string', minLength: 3, description: 'Path of the document' },
    language: { enum: ['en', 'de'], default: 'en' },
    words: { type: ['integer', 'null'], minimum: 10 },
    ratio: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    formal: { type: 'boolean' },
    draft: { type: 'boolean' },
    reader: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, level: { $ref: '#/$defs/level' } },
    },
    tags: { type: 'array', items: { type: 'string', maxLength: 20 }, maxItems: 3 },
    sections: { type: 'array', items: { type: 'object', properties: { title: { type: 'string' } } } },
    extra: { type: 'object' },
  },
  $defs: { level: { oneOf: [{ const: 1 }, { const: 2 }] } },
}

async function register(gate: Gate, fields: object = {}) {
  await gate.registerTaskType(admin(), {
    type: 'report',
    description: 'Writes a report',
    payload_schema: SCHEMA,
    ...fields,
  })
}

async function payloadOf(gate: Gate, visitor: Visitor, form: Readonly<Record<string, string>>) {
  const created = await visitor.submit('/types/report', '/types/report', form)
  expect(created.status).toBe(303)
  const task_id = created.headers.location?.match(/tasks\/([\w-]+)/)?.[1] ?? ''
  return (await gate.getTask(admin(), { task_id })).payload
}

describeGates(
  'task types in the console',
  (open) => {
    it('types show live workers, usual duration and source, and are searched', async () => {
      const { gate } = await open({ realTime: true })
      const visitor = (await servePages(gate)).visitor()
      const empty = await visitor.get('/types')
      expect(wordsOf(empty.text)).toContain('There are no task types.')
      expect(empty.text).toContain('data-copy="npx asyncgate types register types.yaml"')
      await register(gate, { estimated_runtime_seconds: 90 })
      const task_types = [{ type: 'mail', description: 'Sends a message' }]
      await gate.registerWorker(worker(), { worker_id: 'w1', accept_types: ['mail'], task_types })
      const words = wordsOf((await visitor.get('/types')).text)
      expect(words).toMatch(
        /mail Sends a message 1 unknown its workers .*report Writes a report 0 1 min an admin 1/,
      )
      expect(wordsOf((await visitor.get('/types?q=MESS')).text)).not.toContain('report')
      expect(wordsOf((await visitor.get('/types?q=none')).text)).toContain('No task type matches.')
      expect((await visitor.get('/types/nope')).status).toBe(404)
    })

    it('a task is created from a form with every kind of field', async () => {
      const { gate } = await open({ realTime: true })
      await register(gate)
      const visitor = (await servePages(gate)).visitor()
      expect(
        await payloadOf(gate, visitor, {
          ...{ '/document': 'a.pdf\r\nb', '/language': '"de"', '/words': '120', '/ratio': '0.50' },
          ...{ '/formal': 'true', '/draft': '', '/reader/name': 'Ann', '/reader/level': '2' },
          ...{ 'size:/tags': '3', '/tags/0': 'x', '/tags/1': '', '/tags/2': 'z' },
          ...{ '/sections/0/title': 'Intro', '/extra': '{"n": [1, {"m": null}]}' },
        }),
      ).toEqual({
        ...{ document: 'a.pdf\nb', language: 'de', words: 120, ratio: 0.5, formal: true },
        reader: { name: 'Ann', level: 2 },
        ...{ tags: ['x', 'z'], sections: [{ title: 'Intro' }], extra: { n: [1, { m: null }] } },
      })
    })

    it('what is left empty is absent, and defaults are filled in', async () => {
      const { gate } = await open({ realTime: true })
      await register(gate)
      const visitor = (await servePages(gate)).visitor()
      const { text } = await visitor.get('/types/report')
      expect(text).toContain('<option value="&quot;en&quot;" selected>en</option>')
      expect(await payloadOf(gate, visitor, { '/document': 'a.pdf' })).toEqual({
        document: 'a.pdf',
        formal: false,
      })
    })

    it('an error is shown at its field, with everything that was entered', async () => {
      const { gate } = await open({ realTime: true })
      await register(gate)
      const visitor = (await servePages(gate)).visitor()
      const submit = (form: Readonly<Record<string, string>>) =>
        visitor.submit('/types/report', '/types/report', { '/document': 'a.pdf', ...form })
      const cases: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
        [{ '/document': '' }, '/document'],
        [{ '/words': '9' }, '/words'],
        [{ '/words': '1.5' }, '/words'],
        [{ '/ratio': 'much' }, '/ratio'],
        [{ '/reader/level': '1' }, '/reader/name'],
        [{ 'size:/tags': '2', '/tags/0': '', '/tags/1': 'x'.repeat(30) }, '/tags/1'],
        [{ '/language': '"fr"' }, '/language'],
        [{ '/extra': '{' }, '/extra'],
      ]
      for (const [form, name] of cases) {
        const { status, text } = await submit({ '/reader/level': '', ...form })
        expect(status, name).toBe(400)
        const invalid = Array.from(text.matchAll(/name="([^"]+)"[^>]* aria-invalid="true"/g), ([, at]) => at)
        expect(invalid).toEqual([name])
        expect(text.match(/class="field-problem"/g), name).toHaveLength(1)
      }
      const again = await submit({ '/words': 'ten', '/tags/0': 'kept' })
      expect(again.text).toContain('>a.pdf</textarea>')
      expect(again.text).toContain('value="ten"')
      expect(again.text).toContain('value="kept"')
      expect((await gate.listTasks(admin(), {})).tasks).toEqual([])
    })

    it('a list gets more items without script and without creating a task', async () => {
      const { gate } = await open({ realTime: true })
      await register(gate)
      const visitor = (await servePages(gate)).visitor()
      const form = { '/document': 'a.pdf', '/tags/0': 'x', add: '/tags' }
      const { status, text } = await visitor.submit('/types/report', '/types/report', form)
      expect(status).toBe(200)
      expect(text).toContain('name="/tags/1"')
      expect(text).toContain('>a.pdf</textarea>')
      expect((await gate.listTasks(admin(), {})).tasks).toEqual([])
      const full = await visitor.submit('/types/report', '/types/report', { ...form, 'size:/tags': '9' })
      expect(full.text).not.toContain('name="/tags/3"')
      expect(full.text).not.toContain('value="/tags"')
    })

    it('a payload can be entered as JSON, and sending a form twice creates one task', async () => {
      const { gate } = await open({ realTime: true })
      await register(gate)
      const visitor = (await servePages(gate)).visitor()
      const page = '/types/report?as=json'
      const wrong = await visitor.submit(page, '/types/report', { payload: '{"document": 1}' })
      expect(wrong.status).toBe(400)
      expect(wrong.text).toContain('{&quot;document&quot;: 1}</textarea>')
      const form = { payload: '{"document": "abc", "formal": true}', key: 'k', summary: 'S', priority: '-5' }
      for (let i = 0; i < 2; i++) expect((await visitor.submit(page, '/types/report', form)).status).toBe(303)
      const { tasks } = await gate.listTasks(admin(), {})
      expect(tasks).toMatchObject([
        {
          payload: { document: 'abc', formal: true },
          summary: 'S',
          priority: -5,
          created_by: { kind: 'human' },
        },
      ])
      const high = await visitor.submit(page, '/types/report', { ...form, key: 'l', priority: 'high' })
      expect(high.status).toBe(400)
    })

    it('a schema without known members is entered as JSON', async () => {
      const { gate } = await open({ realTime: true })
      const visitor = (await servePages(gate)).visitor()
      const loop = { $ref: '#/$defs/node' }
      const node = { type: 'object', properties: { a: loop, b: loop, c: loop } }
      for (const payload_schema of [null, {}, { type: 'array' }]) {
        await register(gate, { payload_schema })
        expect((await visitor.get('/types/report')).text).toContain('name="payload"')
      }
      await register(gate, { payload_schema: { ...loop, $defs: { node } } })
      const { text } = await visitor.get('/types/report')
      expect(text).toContain('name="/a/a/a/a/a"')
      expect(text.match(/<textarea/g)?.length).toBeLessThanOrEqual(300)
    })

    it('a viewer sees a type and no form', async () => {
      const { gate } = await open({ realTime: true })
      await register(gate)
      const viewer = await viewerOf(gate)
      const page = await viewer.get('/types/report')
      expect(wordsOf(page.text)).toContain('Schema of the payload')
      expect(actionsOf(page.text)).toEqual([])
      expect(actionsOf((await viewer.get('/types')).text)).toEqual([])
    })

    it('a disabled type has no form', async () => {
      const { gate } = await open({ realTime: true })
      await register(gate, { enabled: false })
      const visitor = (await servePages(gate)).visitor()
      expect(actionsOf((await visitor.get('/types/report')).text)).toEqual([])
    })

    it('the texts of a schema are shown as text', async () => {
      const { gate } = await open({ realTime: true })
      const texts = { title: HOSTILE, description: HOSTILE }
      const properties = {
        [HOSTILE]: { type: 'string', ...texts, default: HOSTILE },
        list: { type: 'array', ...texts, items: { type: 'string' } },
        choice: { enum: [HOSTILE], ...texts },
        group: { type: 'object', ...texts, properties: { [HOSTILE]: { type: 'integer' } } },
      }
      await register(gate, {
        type: HOSTILE,
        description: HOSTILE,
        payload_schema: { type: 'object', properties },
      })
      const visitor = (await servePages(gate)).visitor()
      for (const path of ['/types', `/types/${encodeURIComponent(HOSTILE)}`]) {
        const { text, status } = await visitor.get(path)
        expect(status).toBe(200)
        expect(text).not.toContain('<script>')
        const shown = text.replace(/ (value|name|data-row)="[^"]*"/g, '').replace(/<textarea[^>]*>[^<]*/g, '')
        expect(shown).not.toContain('\u202E')
      }
    })
  },
  ['sqlite'],
)
