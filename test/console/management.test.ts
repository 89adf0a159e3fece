import { expect, it } from 'vitest'
import { readRule } from '../../src/features/policies/shape.ts'
import { pinEntry } from '../../src/gateway/upstreams/pins.ts'
import { openGateway } from '../gateway/calls/support.ts'
import { program, registryOn } from '../gateway/upstreams/support.ts'
import { admin, describeGates } from '../support/gates.ts'
import { ask, openTasks, statusOf } from '../support/steps.ts'
import { actionsOf, KEY, LOCKED, STUCK, servePages, viewerOf, wordsOf } from './support.ts'

describeGates(
  'policies in the console',
  (open) => {
    async function prepare() {
      const rule = { id: 'fixed', action: 'BLOCK', scope: { type: 'never' }, priority: 50 }
      const fixed = { rules: [readRule(rule, () => false)], patterns: [] }
      const { gate } = await open({ policy: { fixed } })
      const visitor = (await servePages(gate, LOCKED)).visitor()
      await visitor.signIn(KEY)
      return { gate, visitor }
    }

    it('a rule is created, disabled, enabled, changed and removed', async () => {
      const { gate, visitor } = await prepare()
      const rule = { id: 'a-rule', action: 'BLOCK', scope: { type: 'pay' } }
      const saved = await visitor.submit('/policies/new', '/policies/new', { rule: JSON.stringify(rule) })
      expect(wordsOf((await visitor.follow(saved)).text)).toContain('Saved.')
      expect(await gate.getPolicy(admin(), { id: 'a-rule' })).toMatchObject({
        ...rule,
        updated_by: 'human:maria',
      })

      await visitor.submit('/policies', '/policies/enable')
      expect(await gate.getPolicy(admin(), { id: 'a-rule' })).toMatchObject({ ...rule, enabled: false })
      expect((await visitor.get('/policies')).text).toContain('Enable<span')

      const page = '/policies/rules/a-rule'
      const changed = JSON.stringify({ ...rule, action: 'ALLOW' })
      await visitor.submit(page, page, { rule: changed })
      expect(await gate.getPolicy(admin(), { id: 'a-rule' })).toMatchObject({
        action: 'ALLOW',
        enabled: true,
      })
      const renamed = await visitor.submit(page, page, { rule: JSON.stringify({ ...rule, id: 'other' }) })
      expect(renamed.status).toBe(400)

      await visitor.submit('/policies', '/policies/remove')
      const { policies } = await gate.listPolicies(admin(), {})
      expect(policies.map(({ id }) => id)).toEqual(['fixed'])
    })

    it('a rule is created and changed with the form, and its JSON is beside it', async () => {
      const { gate, visitor } = await prepare()
      const form = {
        ...{ id: 'cards', action: 'REDACT', description: 'No cards', priority: '-3', enabled: 'false' },
        ...{ type: 'pay', upstream: '', condition: '{">": [{"var": "args.amount"}, 1]}' },
        ...{ targets: 'both', paths: '$.card\r\n$.cvc', expires_at: '2099-01-31T09:30' },
      }
      const saved = await visitor.submit('/policies/new', '/policies/new', form)
      expect(wordsOf((await visitor.follow(saved)).text)).toMatch(
        /cards No cards redact type pay condition -3/,
      )
      expect(await gate.getPolicy(admin(), { id: 'cards' })).toMatchObject({
        ...{
          action: 'REDACT',
          description: 'No cards',
          priority: -3,
          enabled: false,
          scope: { type: 'pay' },
        },
        condition: { '>': [{ var: 'args.amount' }, 1] },
        redact: { targets: 'both', paths: ['$.card', '$.cvc'], patterns: [] },
        expires_at: '2099-01-31T09:30:00Z',
      })
      const page = '/policies/rules/cards'
      const { text } = await visitor.get(page)
      expect(text).toMatch(/name="id" value="cards"[^>]* readonly/)
      expect(text).toContain('value="2099-01-31T09:30"')
      expect(text).toMatch(/name="rule"[^>]*>[^<]*&quot;priority&quot;: -3/)
      await visitor.submit(page, page, { ...form, action: 'BLOCK', paths: '', priority: '', enabled: '' })
      expect(await gate.getPolicy(admin(), { id: 'cards' })).toMatchObject({
        ...{ action: 'BLOCK', redact: null, priority: 0, enabled: true },
      })
    })

    it('an error in the form is shown at its field', async () => {
      const { visitor } = await prepare()
      const cases = [
        [{ id: 'a b' }, 'id'],
        [{ priority: 'high' }, 'priority'],
        [{ condition: '{' }, 'condition'],
        [{ condition: '{"nope": 1}' }, 'condition'],
        [{ action: 'REDACT', targets: 'args', paths: 'x[' }, 'paths'],
        [{ expires_at: 'soon' }, 'expires_at'],
      ] as const
      for (const way of ['save', 'preview']) {
        for (const [wrong, name] of cases) {
          const form = { id: 'x', action: 'BLOCK', type: 'pay', ...wrong, do: way }
          const { status, text } = await visitor.submit('/policies/new', '/policies/new', form)
          expect(status, name).toBe(400)
          const marked = Array.from(text.matchAll(/name="(\w+)" aria-invalid="true"/g), ([, at]) => at)
          expect(marked).toEqual([name])
          expect(text).toContain('name="type" value="pay"')
        }
      }
    })

    it('a rule is tried on recent tasks before it is saved', async () => {
      const { gate, visitor } = await prepare()
      const { task_id } = await ask(gate, { type: 'pay', payload: { amount: 500 } })
      await ask(gate, { type: 'pay', payload: { amount: 5 } })
      const form = {
        ...{ id: 'large', action: 'REQUIRE_APPROVAL', type: 'pay', do: 'preview' },
        condition: '{">": [{"var": "args.amount"}, 100]}',
      }
      const { status, text } = await visitor.submit('/policies/new', '/policies/new', form)
      expect(status).toBe(200)
      expect(wordsOf(text)).toMatch(/Of the newest 2 tasks, 1 would have been decided otherwise/)
      expect(wordsOf(text)).toMatch(/pay agent: alice allow require approval /)
      expect(text.match(/data-row=/g)).toHaveLength(1)
      expect(text).toContain(`href="/console/tasks/${task_id}"`)
      // Both sides of the editor show the rule.
      expect(text).toContain('name="id" value="large"')
      expect(text).toMatch(/name="rule"[^>]*>[^<]*&quot;id&quot;: &quot;large&quot;/)
      expect((await gate.listPolicies(admin(), {})).policies.map(({ id }) => id)).toEqual(['fixed'])
    })

    it('a viewer sees rules and can only try them out', async () => {
      const { gate } = await prepare()
      await gate.putPolicy(admin(), { id: 'a-rule', action: 'BLOCK', scope: { type: 'pay' } })
      const viewer = await viewerOf(gate)
      const { text } = await viewer.get('/policies')
      expect(wordsOf(text)).toContain('a-rule block type pay')
      expect(actionsOf(text)).toEqual(['/console/policies/test'])
      expect(text).not.toContain('New rule')
      expect(actionsOf((await viewer.get('/policies/rules/a-rule')).text)).toEqual([])
    })

    it('a refused rule is shown again with its input', async () => {
      const { visitor } = await prepare()
      for (const rule of ['{"id": "x"', '[]', '{"id": "x", "action": "MAYBE"}', '{"id":"x","id":"y"}']) {
        const answer = await visitor.submit('/policies/new', '/policies/new', { rule })
        expect(answer.status).toBe(400)
        expect(answer.text).toContain(`${rule.replaceAll('"', '&quot;')}</textarea>`)
      }
    })

    it("a rule of the operator's file cannot be changed", async () => {
      const { visitor } = await prepare()
      const list = await visitor.get('/policies')
      expect(wordsOf(list.text)).toMatch(/1 fixed .* fixed /)
      expect(list.text).not.toContain('/console/policies/remove')
      const page = await visitor.get('/policies/rules/fixed')
      expect(wordsOf(page.text)).toContain("defined in the operator's file")
      expect(page.text).not.toContain('<textarea')
    })

    it('a policy test shows the outcome of each rule', async () => {
      const { gate, visitor } = await prepare()
      await gate.putPolicy(admin(), {
        id: 'look',
        action: 'REQUIRE_APPROVAL',
        scope: { type: 'pay' },
        condition: { '>': [{ var: 'args.amount' }, 100] },
      })
      const form = { type: 'pay', args: '{"amount": 101}' }
      const tried = await visitor.submit('/policies', '/policies/test', form)
      expect(tried.status).toBe(200)
      const words = wordsOf(tried.text)
      expect(words).toMatch(/require approval by look /)
      expect(words).toMatch(/fixed skipped: .* look applied: it decides/)
      expect(tried.text).toContain('{&quot;amount&quot;: 101}</textarea>')
      const nothing = await visitor.submit('/policies', '/policies/test', {})
      expect(nothing.status).toBe(400)
      expect(await openTasks(gate)).toEqual([])
    })

    it('redaction patterns are created, disabled and removed', async () => {
      const { gate, visitor } = await prepare()
      const pattern = { name: 'iban', pattern: 'DE[0-9]{20}' }
      await visitor.submit('/policies', '/policies/patterns', pattern)
      const storedPattern = async () =>
        (await gate.listRedactionPatterns(admin(), {})).patterns.find(({ name }) => name === 'iban')
      expect(await storedPattern()).toMatchObject({ ...pattern, replacement: '[REDACTED]', enabled: true })
      const bad = await visitor.submit('/policies', '/policies/patterns', { name: 'x', pattern: '(?=a)' })
      expect(bad.status).toBe(400)
      expect(bad.text).toContain('value="(?=a)"')
      await gate.putRedactionPattern(admin(), { ...pattern, replacement: '' })
      await visitor.submit('/policies', '/policies/patterns/enable')
      expect(await storedPattern()).toMatchObject({ ...pattern, replacement: '', enabled: false })
      await visitor.submit('/policies', '/policies/patterns/remove')
      expect(await storedPattern()).toBeUndefined()
    })
  },
  ['sqlite'],
)

const [OLD, NEW] = ['0a'.repeat(32), '0b'.repeat(32)]

describeGates(
  'upstreams in the console',
  (open) => {
    it('both definitions of a changed tool are shown, and the new one can be accepted', async () => {
      const { gate } = await open({
        upstreams: async (store) => {
          const { tenant } = await store.tenant('default')
          const definition = (description: string) => ({
            name: 'read',
            description,
            inputSchema: { type: 'object' },
          })
          await store.entries.put(
            pinEntry(tenant, {
              upstream: 'wiki',
              tool: 'read',
              accepted: { hash: OLD, definition: definition('Reads a page'), at: 0, by: 'human:root' },
              offered: { hash: NEW, definition: definition('Reads a page, and mails it'), at: 0 },
            }),
          )
          return registryOn(store)
        },
      })
      await gate.addUpstream(admin(), {
        name: 'wiki',
        transport: { type: 'http', url: 'https://wiki.example/mcp' },
        enabled: false,
      })
      const visitor = (await servePages(gate)).visitor()
      const list = wordsOf((await visitor.get('/upstreams')).text)
      expect(list).toMatch(/wiki https:\/\/wiki\.example\/mcp disabled 0 1 0 of \d+ 0 0 – – /)
      const page = await visitor.get('/upstreams/wiki')
      expect(wordsOf(page.text)).toMatch(
        /removed: "description": "Reads a page", .*added: "description": "Reads a page, and mails it",/,
      )
      const viewer = await viewerOf(gate)
      for (const path of ['/upstreams', '/upstreams/wiki']) {
        expect(actionsOf((await viewer.get(path)).text)).toEqual([])
      }
      const done = await visitor.submit('/upstreams/wiki', '/upstreams/wiki/accept')
      expect(wordsOf((await visitor.follow(done)).text)).toContain('Accepted.')
      const { catalogue } = await gate.getUpstream(admin(), { name: 'wiki' })
      expect(catalogue).toMatchObject([
        { tool: 'read', accepted_hash: NEW, offered: null, accepted_by: 'human:operator' },
      ])
    })

    it('each tool shows which rule allows it, blocks it or requires approval', async () => {
      const { gate } = await open({
        upstreams: async (store) => {
          const upstreams = await registryOn(store, { fixed: [program('legacy')] })
          await upstreams.settled()
          return upstreams
        },
      })
      await gate.putPolicy(admin(), { id: 'echoes', action: 'ALLOW', scope: { tool: 'echo' } })
      await gate.putPolicy(admin(), { id: 'sums', action: 'REQUIRE_APPROVAL', scope: { tool: 'add' } })
      const condition = { '<': [{ var: 'args.bytes' }, 5] }
      await gate.putPolicy(admin(), { id: 'small', action: 'ALLOW', scope: { tool: 'big' }, condition })
      const visitor = (await servePages(gate)).visitor()
      const { text } = await visitor.get('/upstreams/fix')
      const words = wordsOf(text)
      expect(words).toMatch(/fix__echo allowed .* Rule echoes allows this\. Show the rule/)
      expect(words).toMatch(/fix__add needs approval .* Rule sums says that this needs approval\./)
      expect(words).toMatch(/fix__big depends on the arguments .* Rule small may allow this/)
      expect(words).toMatch(
        /fix__crash blocked .* No rule allows this, and calls of upstream tools are blocked/,
      )
      expect(text).toContain('href="/console/policies/rules/echoes"')
    })

    it('the pages say that there are no upstreams', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      expect(wordsOf((await visitor.get('/upstreams')).text)).toContain('There are no upstreams.')
      expect(wordsOf((await visitor.get('/sessions')).text)).toContain('There are no upstreams.')
      expect((await visitor.get('/upstreams/wiki')).status).toBe(501)
    })

    it('an unknown upstream has status 404', async () => {
      const { gate } = await open({ upstreams: (store) => registryOn(store) })
      const visitor = (await servePages(gate)).visitor()
      expect((await visitor.get('/upstreams/nope')).status).toBe(404)
    })
  },
  ['sqlite'],
)

describeGates(
  'sessions in the console',
  (open) => {
    it('a session shows its caller and calls, and can be limited, canceled and ended', async () => {
      const gateway = await openGateway(open, {
        tools: { stuck: STUCK },
        limits: { gateway_session_workers: 1 },
      })
      const { gate } = gateway
      const first = await gateway.call('stuck')
      await gateway.call('stuck')
      const visitor = (await servePages(gate)).visitor()
      const [session] = (await gate.listSessions(admin(), {})).sessions
      const path = `/sessions/${encodeURIComponent(session?.session_id ?? '')}`
      const words = wordsOf((await visitor.get('/sessions')).text)
      expect(words).toMatch(/agent:ada live test 1 1 of 1 1 2 /)
      expect(wordsOf((await visitor.get(path)).text)).toMatch(
        /agent:ada live .*Slots busy 1 of 1 Waiting 1 of /,
      )

      await visitor.submit(path, `${path}/limits`, { workers: '5', queue: '' })
      const changed = await gate.getSession(admin(), { session_id: session?.session_id })
      expect(changed).toMatchObject({ workers: 5, queue: session?.queue })

      const other = await ask(gate)
      const query = `?session_id=${encodeURIComponent(session?.session_id ?? '')}`
      const asked = await visitor.get(`/tasks/cancel-all${query}`)
      expect(wordsOf((await visitor.follow(asked)).text)).toContain('Cancel 2 open tasks?')
      await visitor.submit((asked.headers.location ?? '').replace('/console', ''), '/tasks/bulk')
      expect(await openTasks(gate)).toEqual([other.task_id])
      expect(await statusOf(gate, { task_id: first })).toBe('canceled')

      await gateway.call('stuck')
      const viewer = await viewerOf(gate)
      for (const page of ['/sessions', path]) {
        const seen = await viewer.get(page)
        expect(wordsOf(seen.text)).toContain('agent:ada')
        expect(actionsOf(seen.text)).toEqual([])
      }
      const ended = await visitor.submit(path, `${path}/end`, { mode: 'cancel' })
      expect(wordsOf((await visitor.follow(ended)).text)).toContain('The session has ended. Canceled 1 task.')
      expect((await gate.listSessions(admin(), {})).sessions).toEqual([])
      expect((await visitor.post(`${path}/end`, {})).status).toBe(403)
    })
  },
  ['sqlite'],
)
