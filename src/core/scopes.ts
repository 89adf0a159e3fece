/** What a key or a token can be limited to. Each operation names its permission, and each permission its scopes. */
export const SCOPES = [
  'tasks:read',
  'tasks:write',
  'tasks:lease',
  'receipts:read',
  'receipts:ack',
  'admin:read',
  'admin:write',
] as const
export type Scope = (typeof SCOPES)[number]

export const SCOPE_DESCRIPTIONS: Readonly<Record<Scope, string>> = {
  'tasks:read': 'Read own tasks',
  'tasks:write': 'Create, retry and cancel own tasks, and answer their questions',
  'tasks:lease': 'Lease tasks and report their outcome',
  'receipts:read': 'Read own receipts and obligations',
  'receipts:ack': 'Acknowledge receipts',
  'admin:read': 'Read everything of the tenant',
  'admin:write': 'Change everything of the tenant, as far as the role allows',
}

/** What the client of an agent should ask for. */
export const DEFAULT_SCOPES: readonly Scope[] = ['tasks:read', 'tasks:write', 'receipts:read', 'receipts:ack']
