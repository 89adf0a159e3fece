import { expect, it } from 'vitest'
import { GROUPS } from '../../src/console/navigation.ts'
import { findPage } from '../../src/console/routes.ts'
import { admin, describeGates, worker } from '../support/gates.ts'
import { ask, failTask, hold, lease } from '../support/steps.ts'
import { LOCKED, servePages } from './support.ts'

/** What everybody may send: to sign out, and to try the rules, which changes nothing. */
const OPEN = ['/console/logout', '/console/policies/test']

describeGates(
  'a viewer in the console',
  (open) => {
    it('sees no form that only others may send', async () => {
      const { gate } = await open({ realTime: true })
      const { visitor } = await servePages(gate, LOCKED)
      await gate.putPolicy(admin(), { id: 'look', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
      await gate.registerWorker(worker(), { worker_id: 'w1', accept_types: ['job'] })
      const { task_id: pending } = await ask(gate, { type: 'pay' })
      const { task_id: running } = await hold(gate, { type: 'job' }, { accept_types: ['job'] })
      const { task_id: failed } = await ask(gate)
      await failTask(gate, await lease(gate, { accept_types: ['job'] }), { retryable: false })
      const { key } = await gate.createKey(admin(), {
        principal: { kind: 'human', id: 'vic' },
        role: 'viewer',
      })
      const vic = visitor()
      await vic.signIn(key)
      const sections = GROUPS.flatMap(({ sections }) => sections).map((section) => `/${section}`)
      const items = [pending, running, failed].map((id) => `/tasks/${id}`)
      const paths = [...sections, ...items, `/approvals/${pending}`, '/policies/rules/look', '/workers/w1']
      const refused: string[] = []
      for (const path of paths) {
        const { text, status } = await vic.get(path)
        const forms = [...text.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action]) => action)
        const others = forms.filter((action) => !OPEN.includes(action ?? ''))
        if (others.length > 0) refused.push(`${path}: ${others.join(', ')}`)
        if (status === 500) refused.push(`${path}: ${status}`)
        const isOpen = text.includes(`<a href="/console${path}" data-go`)
        const isPage = findPage(`/console${path}`) !== undefined
        if (sections.includes(path) && isPage && isOpen !== (status === 200)) {
          refused.push(`${path}: is ${isOpen ? '' : 'not '}in the navigation, and responds with ${status}`)
        }
      }
      expect(refused).toEqual([])
    })
  },
  ['sqlite'],
)
