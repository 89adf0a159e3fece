import { expect, it, vi } from 'vitest'
import { PERMISSIONS } from '../../src/core/authorization.ts'
import type { Role } from '../../src/core/principal.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { describeGates } from '../support/gates.ts'
import {
  ABSENT,
  attemptAll,
  CLOSED,
  caller,
  fillServices,
  fillTenant,
  inputOf,
  KEY_ROLES,
  keyOf,
  PUBLIC,
  SERVICES,
} from './foreign-tenant.ts'
import { members, servers } from './support.ts'

vi.setConfig({ testTimeout: 60_000 })

describeGates('access with issued keys', (open) => {
  const serve = servers(open)

  it.each(KEY_ROLES)(
    'over REST and MCP the role %s may call exactly the operations that list it',
    async (role) => {
      const served = await serve({ auth: CLOSED, realTime: true })
      const { rest, mcp } = caller(served, await keyOf(served, role))
      for (const operation of OPERATIONS) {
        const { name, access } = operation
        const allowed: readonly Role[] = PERMISSIONS[access].roles
        for (const [protocol, call] of Object.entries({ rest, mcp })) {
          const { code, details } = await call(operation, inputOf(operation, ABSENT))
          const what = `${name} over ${protocol}`
          expect(code, what).not.toBe('UNAUTHENTICATED')
          const isRefused = code === 'FORBIDDEN' && 'required_role' in members(details)
          if (name !== PUBLIC || protocol === 'mcp') expect(isRefused, what).toBe(!allowed.includes(role))
        }
      }
    },
  )

  it('an admin of another tenant reads and changes nothing, whatever ids they name', async () => {
    const served = await serve({ auth: CLOSED, realTime: true, ...SERVICES })
    const objects = await fillTenant(served.gate)
    const services = await fillServices(served.gate)
    const ids = { ...objects.ids, ...services.ids }
    const state = async () => ({ ...(await objects.state()), services: await services.state() })
    const before = await state()
    for (const { operation, protocol, leaks } of await attemptAll(served, ids, before.task.created_at)) {
      expect(leaks, `${operation.name} over ${protocol}`).toBe(false)
    }
    const { rest } = caller(served, await keyOf(served, 'admin', 'other'))
    for (const operation of OPERATIONS) {
      const { code } = await rest(operation, { ...inputOf(operation, ids), tenant_id: 'default' })
      if (operation.name !== PUBLIC) expect(code, operation.name).toBe('FORBIDDEN')
    }
    expect(await state()).toEqual(before)
  })
})
