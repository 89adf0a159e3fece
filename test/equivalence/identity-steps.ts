import { BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const ANN = { email: 'ann@example.com', principal: { kind: 'human', id: 'ann' }, role: 'operator' }

/** An admin lets a person of the identity provider sign in, and removes them. */
export const identitySteps: readonly Step[] = [
  ok('put_identity', { ...ROOT, ...ANN }, { ...ANN, scopes: null, updated_by: 'human:root' }, 'identity'),
  no('put_identity', { ...BOB, ...ANN }, 'FORBIDDEN'),
  no('put_identity', { ...ROOT, ...ANN, subject: 'user-1' }, 'VALIDATION_ERROR'),
  ok('list_identities', ROOT, { identities: [ANN], next_cursor: null }),
  no('list_identities', BOB, 'FORBIDDEN'),
  ok('remove_identity', { ...ROOT, identity_id: '$identity.identity_id' }, { revoked: 0 }),
  no('remove_identity', { ...ROOT, identity_id: '$identity.identity_id' }, 'IDENTITY_NOT_FOUND'),
]
