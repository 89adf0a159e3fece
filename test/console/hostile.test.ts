import { expect, it } from 'vitest'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import { ask, held, lease } from '../support/steps.ts'
import { servePages } from './support.ts'

const TAG = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
const HOSTILE = `javascript:alert(1)//'${TAG}\u202E\u001B[31m`

describeGates(
  'untrusted text in the console',
  (open) => {
    it('untrusted text is shown as text on every page', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      const input = {
        type: HOSTILE,
        summary: HOSTILE,
        payload: { [HOSTILE]: HOSTILE },
        body: HOSTILE,
        inputs: { [HOSTILE]: HOSTILE },
        labels: { [TAG]: TAG },
        session_id: HOSTILE,
        principal_ai: HOSTILE,
        parent_task_id: HOSTILE,
      }
      const evil = agent(HOSTILE)
      const ended = await ask(gate, input, evil)
      const offer = await lease(gate, {}, worker(HOSTILE))
      const call = { ...held(offer, HOSTILE) }
      await gate.reportProgress(worker(HOSTILE), { ...call, progress: { message: HOSTILE, [HOSTILE]: 1 } })
      await gate.fail(worker(HOSTILE), {
        ...call,
        error: { code: HOSTILE, message: HOSTILE },
        retryable: false,
      })

      await ask(gate, input, evil)
      const asking = await lease(gate, {}, worker(HOSTILE))
      const request = { title: HOSTILE, show: { [HOSTILE]: HOSTILE }, reason: HOSTILE, rule_id: HOSTILE }
      await gate.ask(worker(HOSTILE), { ...held(asking, HOSTILE), kind: 'approval', request })

      await ask(gate, input, evil)
      const wanting = await lease(gate, {}, worker(HOSTILE))
      const schema = { type: 'string', enum: [HOSTILE], description: HOSTILE }
      await gate.ask(worker(HOSTILE), {
        ...held(wanting, HOSTILE),
        kind: 'input',
        request: { message: HOSTILE, schema },
      })

      await gate.putPolicy(admin(), { id: 'r', description: TAG, action: 'ALLOW', scope: { tool: TAG } })
      const query = encodeURIComponent(HOSTILE)
      for (const path of [
        '/approvals',
        `/approvals?type=${query}&cursor=`,
        `/approvals/${asking.task_id}`,
        '/tasks',
        `/tasks?type=${query}&created_by=${query}&session_id=${query}`,
        `/tasks/cancel-all?type=${query}&session_id=${query}`,
        `/tasks/${ended.task_id}`,
        `/tasks/${wanting.task_id}`,
        '/policies',
        '/policies/rules/r',
        `/policies/rules/${query}`,
        `/upstreams/${query}`,
        `/login?next=${query}`,
        `/icon.svg?n=${query}`,
        `/${query}`,
        `/tasks?notice=${query}`,
        `/tasks?q=${encodeURIComponent('"')}${query}`,
        `/tasks?q=${query}`,
        `/approvals?agent=${query}&type=${query}&rule=${query}`,
        `/receipts?task_id=${ended.task_id}`,
        `/receipts?to=${query}`,
        '/tasks?notice=__proto__&n=1',
      ]) {
        const { text, status } = await visitor.get(path)
        expect(status, path).not.toBe(500)
        expect(text, path).not.toMatch(/<script>|<img/)
        // A field contains the original text; everywhere else hidden characters are marked.
        const shown = text.replace(/ value="[^"]*"/g, '')
        for (const hidden of ['\u202E', '\u001B']) expect(shown, path).not.toContain(hidden)
        expect(text, path).not.toMatch(/(href|src|action)="(?!\/console|#main)/)
      }
    })

    it('untrusted text is shown as text in a refused form', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      await gate.putPolicy(admin(), { id: 'r', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
      const { task_id } = await ask(gate, { type: 'pay' })
      const path = `/approvals/${task_id}`
      const form = { payload: TAG, comment: TAG, remember_until: TAG, reason: TAG }
      const answers = [
        await visitor.submit(path, `${path}/approve`, form),
        await visitor.submit('/policies/new', '/policies/new', { rule: `{"id": "${TAG}` }),
        await visitor.submit('/policies', '/policies/test', { type: TAG, args: TAG }),
        await visitor.submit('/policies', '/policies/patterns', { name: TAG, pattern: TAG }),
        await visitor.post('/login', { name: TAG, key: TAG, next: TAG }),
      ]
      for (const { text, status } of answers) {
        expect(status).toBeGreaterThanOrEqual(200)
        expect(text).not.toMatch(/<script>|<img/)
      }
    })
  },
  ['sqlite'],
)
