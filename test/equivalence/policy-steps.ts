import { ALICE, BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const RULE = {
  ...ROOT,
  id: 'spending',
  action: 'REQUIRE_APPROVAL',
  scope: { type: 'buy' },
  condition: { '>': [{ var: 'args.amount' }, 100] },
  priority: 200,
}
const PLATE = { ...ROOT, name: 'plate', pattern: '[A-Z]{2}-\\d+' }
const BUY = { type: 'buy', args: { amount: 500 } }

/** Admins manage policies; then one task is blocked and one is redacted. */
export const policySteps: readonly Step[] = [
  ok('list_policies', ROOT, { policies: [], defaults: { plain: 'ALLOW', upstream: 'BLOCK' } }),
  no('list_policies', BOB, 'FORBIDDEN'),
  no('get_policy', { ...ROOT, id: 'spending' }, 'POLICY_NOT_FOUND'),
  ok('put_policy', RULE, { id: 'spending', source: 'api', version: 1, updated_by: 'human:root' }),
  no('put_policy', { ...RULE, ...BOB, principal_kind: 'agent' }, 'FORBIDDEN'),
  no('put_policy', { ...RULE, condition: { '>': [{ var: 'amount' }, 100] } }, 'VALIDATION_ERROR'),
  ok('get_policy', { ...ROOT, id: 'spending' }, { priority: 200, condition: RULE.condition }),
  ok(
    'test_policy',
    { ...ROOT, context: BUY },
    { action: 'REQUIRE_APPROVAL', rule_id: 'spending', considered: [{ id: 'spending', applied: true }] },
  ),
  ok(
    'test_policy',
    { ...ROOT, context: BUY, rules: [{ id: 'never', action: 'BLOCK' }] },
    { action: 'BLOCK', rule_id: 'never' },
  ),
  no('test_policy', { ...ROOT, context: {} }, 'VALIDATION_ERROR'),
  no('test_policy', { ...BOB, context: BUY }, 'FORBIDDEN'),
  ok('put_policy', { ...RULE, action: 'BLOCK' }, { action: 'BLOCK', version: 2 }),
  no('create_task', { ...ALICE, type: 'buy', payload: { amount: 500 } }, 'POLICY_BLOCKED'),
  ok(
    'preview_policy',
    { ...ROOT, rule: { id: 'spending', action: 'ALLOW', scope: { type: 'buy' } }, limit: 1 },
    {
      examined: 1,
      changed: [{ type: 'buy', before: { action: 'BLOCK' }, after: { action: 'ALLOW' } }],
    },
  ),
  no('preview_policy', { ...ROOT, rule: { id: 'x', action: 'REDACT' } }, 'VALIDATION_ERROR'),
  no('preview_policy', { ...BOB, rule: { id: 'x', action: 'BLOCK' } }, 'FORBIDDEN'),
  ok(
    'list_agents',
    { ...ROOT, principal: 'alice' },
    { agents: [{ principal: { kind: 'agent', id: 'alice' } }] },
  ),
  no('list_agents', BOB, 'FORBIDDEN'),
  ok('list_redaction_patterns', ROOT, {
    patterns: ['email', 'phone', 'ssn', 'card', 'api_key', 'bearer', 'ipv4'].map((name) => ({ name })),
  }),
  no('list_redaction_patterns', BOB, 'FORBIDDEN'),
  ok('put_redaction_pattern', PLATE, { name: 'plate', replacement: '[REDACTED]', source: 'api' }),
  no('put_redaction_pattern', { ...PLATE, pattern: '(?=x)' }, 'VALIDATION_ERROR'),
  ok(
    'put_policy',
    { ...ROOT, id: 'plates', action: 'REDACT', redact: { targets: 'both', patterns: ['plate'] } },
    { redact: { targets: 'both', patterns: ['plate'] } },
  ),
  no('remove_redaction_pattern', { ...ROOT, name: 'plate' }, 'VALIDATION_ERROR'),
  ok('list_policies', ROOT, { policies: [{ id: 'spending' }, { id: 'plates' }], next_cursor: null }),
  ok('list_policies', { ...ROOT, limit: 1 }, { policies: [{ id: 'spending' }], next_cursor: 'spending' }),
  ok('list_policies', { ...ROOT, cursor: 'spending' }, { policies: [{ id: 'plates' }], next_cursor: null }),
  no('list_policies', { ...ROOT, cursor: 'none' }, 'VALIDATION_ERROR'),
  no('remove_policy', { ...BOB, id: 'plates' }, 'FORBIDDEN'),
  ok('remove_policy', { ...ROOT, id: 'plates' }, { id: 'plates', removed: true }),
  ok('remove_redaction_pattern', { ...ROOT, name: 'plate' }, { name: 'plate', removed: true }),
  ok('remove_policy', { ...ROOT, id: 'spending' }, { removed: true }),
  ok('remove_policy', { ...ROOT, id: 'spending' }, { removed: false }),
]
