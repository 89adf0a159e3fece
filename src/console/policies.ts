import { z } from 'zod'
import { Fault, invalid } from '../core/errors.ts'
import { patternShape, policyShape } from '../features/policies/shape.ts'
import { testedShape } from '../features/policies/test-policy.ts'
import { type Attempt, attempting } from './attempt.ts'
import { jsonIn, link, textIn } from './fields.ts'
import { policiesPage, type TestView } from './pages/policies.ts'
import { draftOf, policyPage } from './pages/policy.ts'
import { type ConsoleRoute, type Reply, redirect, type Visit } from './reply.ts'

const rulesShape = z.object({
  policies: z.array(policyShape),
  defaults: z.object({ plain: z.string(), upstream: z.string() }),
})
const patternsShape = z.object({ patterns: z.array(patternShape) })
const removedShape = z.object({ removed: z.boolean() })

const LIST = '/console/policies'

export const policyRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/policies', handle: (visit) => showAll(visit) },
  {
    method: 'POST',
    path: '/policies/test',
    handle: (visit) =>
      attempting(visit, showAll, async (tried) => {
        const { desk, form } = tried
        const context = Object.fromEntries(
          ['type', 'upstream', 'tool', 'principal'].map((name) => [name, textIn(form, name)]),
        )
        const args = jsonIn(form, 'args')
        const result = await desk.call('test_policy', { context: { ...context, args } }, testedShape)
        return showAll(tried, undefined, { form, result })
      }),
  },
  {
    method: 'POST',
    path: '/policies/patterns',
    handle: (visit) =>
      attempting(visit, showAll, async ({ desk, form }) => {
        const input = {
          name: textIn(form, 'name'),
          pattern: textIn(form, 'pattern'),
          replacement: textIn(form, 'replacement'),
          description: textIn(form, 'description'),
        }
        await desk.call('put_redaction_pattern', input, patternShape)
        return redirect(link(LIST, { notice: 'saved' }))
      }),
  },
  {
    method: 'POST',
    path: '/policies/patterns/enable',
    async handle({ desk, form }) {
      const name = form.get('name')
      const { patterns } = await desk.call('list_redaction_patterns', {}, patternsShape)
      const pattern = patterns.find((each) => each.name === name)
      if (pattern === undefined) throw new Fault('NOT_FOUND', {}, 'There is no such pattern any more.')
      const enabled = form.get('enabled') === 'true'
      await desk.call('put_redaction_pattern', { ...draftOf(pattern), enabled }, patternShape)
      return redirect(link(LIST, { notice: 'saved' }))
    },
  },
  {
    method: 'POST',
    path: '/policies/patterns/remove',
    handle: (visit) =>
      attempting(visit, showAll, async ({ desk, form }) => {
        await desk.call('remove_redaction_pattern', { name: textIn(form, 'name') }, removedShape)
        return redirect(link(LIST, { notice: 'removed' }))
      }),
  },
  { method: 'GET', path: '/policies/new', handle: async (visit) => showNew(visit) },
  {
    method: 'POST',
    path: '/policies/new',
    handle: (visit) =>
      attempting(visit, showNew, async ({ desk, form }) => {
        await desk.call('put_policy', ruleIn(form), policyShape)
        return redirect(link(LIST, { notice: 'saved' }))
      }),
  },
  // Below a path of their own: a rule may have any of the names above.
  { method: 'GET', path: '/policies/rules/{id}', handle: (visit) => showOne(visit) },
  {
    method: 'POST',
    path: '/policies/rules/{id}',
    handle: (visit) =>
      attempting(visit, showOne, async ({ desk, params: { id }, form }) => {
        const rule = ruleIn(form)
        if (rule.id !== id) throw invalid('id', 'is that of another rule; a new rule has a page of its own')
        await desk.call('put_policy', rule, policyShape)
        return redirect(link(LIST, { notice: 'saved' }))
      }),
  },
  {
    method: 'POST',
    path: '/policies/enable',
    async handle({ desk, form }) {
      const rule = await desk.call('get_policy', { id: form.get('id') ?? '' }, policyShape)
      const enabled = form.get('enabled') === 'true'
      await desk.call('put_policy', { ...draftOf(rule), enabled }, policyShape)
      return redirect(link(LIST, { notice: 'saved' }))
    },
  },
  {
    method: 'POST',
    path: '/policies/remove',
    async handle({ desk, form }) {
      await desk.call('remove_policy', { id: form.get('id') ?? '' }, removedShape)
      return redirect(link(LIST, { notice: 'removed' }))
    },
  },
]

async function showAll({ desk, query, token }: Visit, attempt?: Attempt, test?: TestView): Promise<Reply> {
  const [rules, { patterns }] = await Promise.all([
    desk.call('list_policies', {}, rulesShape),
    desk.call('list_redaction_patterns', {}, patternsShape),
  ])
  const shown = { ...rules, patterns, query, token, now: desk.now }
  return policiesPage({ ...shown, ...(attempt && { attempt }), ...(test && { test }) })
}

async function showNew({ token }: Visit, attempt?: Attempt): Promise<Reply> {
  return policyPage({ token, ...(attempt && { attempt }) })
}

async function showOne({ desk, params: { id = '' }, token }: Visit, attempt?: Attempt): Promise<Reply> {
  const rule = await desk.call('get_policy', { id }, policyShape)
  return policyPage({ rule, token, now: desk.now, ...(attempt && { attempt }) })
}

function ruleIn(form: URLSearchParams): Readonly<Record<string, unknown>> {
  const rule = jsonIn(form, 'rule')
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    throw invalid('rule', 'is not an object')
  return { ...rule }
}
