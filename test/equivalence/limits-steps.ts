import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const GUEST = { tenant: 'guest' }
const QUOTAS = [
  { quota: 'max_active_tasks', limit: 7, used: 0 },
  { quota: 'max_terminal_tasks', limit: -1 },
  { quota: 'max_concurrent_leases', limit: 10 },
  { quota: 'max_payload_bytes', used: null },
  { quota: 'max_receipt_bytes', limit: 1024 ** 3 },
  { quota: 'max_receipts_per_task', limit: -1 },
]

/** An admin sets the limits of another tenant and reads them. */
export const limitsSteps: readonly Step[] = [
  ok('get_limits', BOB, { tenant_id: 'default', tier: null, rate_limits: [], bypass: null, set: null }),
  ok('set_limits', { ...ROOT, ...GUEST, tier: 'free' }, { tenant_id: 'guest', tier: 'free' }),
  ok('set_limits', { ...ROOT, ...GUEST, quotas: { max_active_tasks: 7 } }, { tier: 'free' }),
  ok('get_limits', { ...ROOT, ...GUEST }, { quotas: QUOTAS }),
  ok(
    'set_limits',
    { ...ROOT, ...GUEST, bypass: { reason: 'contract' } },
    { bypass: { reason: 'contract', approved_by: 'human:root', expires_at: null } },
  ),
  ok('set_limits', { ...ROOT, ...GUEST, bypass: null, tier: null }, { bypass: null, tier: null }),
  no('get_limits', { ...BOB, ...GUEST }, 'FORBIDDEN'),
  no('set_limits', { ...BOB, ...GUEST, tier: 'paid' }, 'FORBIDDEN'),
  no('set_limits', { ...ROOT, ...GUEST, tier: 'gold' }, 'VALIDATION_ERROR'),
  no('set_limits', { ...ROOT, ...GUEST, principal: 'nobody' }, 'VALIDATION_ERROR'),
]
