import { describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { restRequest } from '../equivalence/http.ts'
import { bareCall } from '../mcp/endpoint.ts'
import { AUTH_MODES, authSettings, callerKey, personKey } from '../support/auth-modes.ts'
import { admin, agent, describeGates } from '../support/gates.ts'
import { PROGRAM } from '../support/program.ts'
import { members, serveGate } from './support.ts'

const DECIDING = OPERATIONS.filter(({ needsPerson }) => needsPerson)

const CLAIMS = [
  {},
  { agent_id: 'alice' },
  { principal_kind: 'human', principal_id: 'root' },
  { principal_kind: 'service', principal_id: 'ci' },
]

it('operations that decide or change what has to be decided require a person', () => {
  expect(DECIDING.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'approve',
      'deny',
      'put_policy',
      'remove_policy',
      'put_redaction_pattern',
      'remove_redaction_pattern',
      'add_upstream',
      'remove_upstream',
      'accept_upstream_tool',
      'create_key',
      'rotate_key',
      'revoke_key',
    ]),
  )
})

describe.each(AUTH_MODES)('decisions with %s', (mode) => {
  const key = callerKey(mode, { kind: 'agent', id: 'planner' }, 'agent')
  const shared = key === undefined ? {} : { authorization: `Bearer ${key}` }

  describeGates('operations that need a person', (open) => {
    it('a claimed identity of a person is refused over REST and MCP', async () => {
      const { gate } = await open()
      const { send } = await serveGate(gate, { auth: authSettings(mode) })
      for (const operation of DECIDING) {
        for (const claim of CLAIMS) {
          const { method, path, body } = restRequest(operation, {
            task_id: 'x',
            name: 'x',
            id: 'x',
            key_id: 'x',
            client_id: 'x',
            identity_id: 'x',
            kind: 'human',
            ...claim,
          })
          const refused = { status: 403, body: { code: 'FORBIDDEN' } }
          expect(await send(method, path, body, shared), operation.name).toMatchObject(refused)
          const call = bareCall(`asyncgate.${operation.name}`, claim)
          const answer = await send('POST', `/mcp${PROGRAM}`, call.body, {
            accept: 'application/json',
            ...shared,
          })
          const error = { isError: true, structuredContent: { code: 'FORBIDDEN' } }
          expect(members(answer.body.result), operation.name).toMatchObject(error)
        }
      }
    })

    it('a person with their own key can decide', async () => {
      const { gate } = await open()
      const { send } = await serveGate(gate, { auth: authSettings(mode) })
      await gate.putPolicy(admin(), { id: 'look', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
      const { task_id } = await gate.createTask(agent('alice'), { type: 'pay' })
      const headers = { authorization: `Bearer ${personKey('maria', mode)}` }
      expect(await send('POST', `/v1/approvals/${task_id}/approve`, {}, headers)).toMatchObject({
        status: 200,
        body: { state: 'approved', decided_by: { kind: 'human', id: 'maria' } },
      })
    })
  })
})
