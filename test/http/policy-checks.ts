import { expect } from 'vitest'
import { listOf, ROOT, type Served } from './support.ts'

const RULE = { id: 'no:jobs', action: 'BLOCK', scope: { type: 'job' }, priority: 300 }
const PLATE = { name: 'plate', pattern: '[A-Z]{2}-\\d+' }

const put = ({ post }: Served) => post('/v1/policies', { ...ROOT, ...RULE })
const putPattern = ({ post }: Served) => post('/v1/redaction-patterns', { ...ROOT, ...PLATE })

/** The operations on rules and redaction patterns. */
export const policyChecks = {
  async put_policy(served: Served) {
    expect(await put(served)).toMatchObject({ status: 200, body: { ...RULE, source: 'api', version: 1 } })
    const blocked = await served.post('/v1/tasks', { type: 'job' })
    expect(blocked).toMatchObject({
      status: 403,
      body: { code: 'POLICY_BLOCKED', retryable: false, details: { rule_id: 'no:jobs' } },
    })
  },

  async list_policies(served: Served) {
    await put(served)
    const answer = await served.get('/v1/policies', ROOT)
    const defaults = { plain: 'ALLOW', upstream: 'BLOCK' }
    expect(answer).toMatchObject({ status: 200, body: { policies: [RULE], defaults } })
  },

  async get_policy(served: Served) {
    await put(served)
    expect(await served.get('/v1/policies/no%3Ajobs', ROOT)).toMatchObject({ status: 200, body: RULE })
    expect(await served.get('/v1/policies/test', ROOT)).toMatchObject({ status: 404 })
  },

  async remove_policy(served: Served) {
    await put(served)
    const answer = await served.post('/v1/policies/no%3Ajobs/remove', ROOT)
    expect(answer).toMatchObject({ status: 200, body: { id: 'no:jobs', removed: true } })
  },

  async test_policy(served: Served) {
    await put(served)
    const answer = await served.post('/v1/policies/test', {
      ...ROOT,
      context: { type: 'job', args: { n: 1 } },
    })
    expect(answer).toMatchObject({
      status: 200,
      body: { action: 'BLOCK', rule_id: 'no:jobs', args: { n: 1 }, redacted_fields: [] },
    })
    expect(listOf(answer, 'considered')).toEqual([{ id: 'no:jobs', applied: true, why: 'it decides' }])
  },

  async preview_policy(served: Served) {
    const { body } = await served.post('/v1/tasks', { principal_id: 'alice', type: 'job' })
    const rule = { id: 'no:jobs', action: 'BLOCK', scope: { type: 'job' } }
    expect(await served.post('/v1/policies/preview', { ...ROOT, rule })).toMatchObject({
      status: 200,
      body: {
        examined: 1,
        changed: [{ task_id: body.task_id, before: { action: 'ALLOW' }, after: { action: 'BLOCK' } }],
      },
    })
  },

  async put_redaction_pattern(served: Served) {
    expect(await putPattern(served)).toMatchObject({
      status: 200,
      body: { ...PLATE, replacement: '[REDACTED]', enabled: true, source: 'api' },
    })
  },

  async list_redaction_patterns(served: Served) {
    await putPattern(served)
    const patterns = listOf(await served.get('/v1/redaction-patterns', ROOT), 'patterns')
    expect(patterns).toHaveLength(8)
    expect(patterns.at(-1)).toMatchObject(PLATE)
  },

  async remove_redaction_pattern(served: Served) {
    await putPattern(served)
    const answer = await served.post('/v1/redaction-patterns/plate/remove', ROOT)
    expect(answer).toMatchObject({ status: 200, body: { name: 'plate', removed: true } })
  },
}
