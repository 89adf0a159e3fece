import type pg from 'pg'

/** Tables whose rows belong to no tenant. Every other table must be protected by row-level security. */
const GLOBAL_TABLES = ['migrations', 'secrets', 'clock_lead', 'followers']

/** Why the database would not keep tenants apart by itself, and what to do about it. */
export interface IsolationProblem {
  readonly message: string
  readonly fix: string
}

const ROLE = `
  SELECT current_user AS name, rolsuper AS is_super, rolbypassrls AS bypasses
  FROM pg_roles WHERE rolname = current_user`

const OPEN_TABLES = `
  SELECT c.relname AS name FROM pg_class c
  WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('migrations'))
    AND c.relkind IN ('r', 'p') AND c.relname <> ALL ($1) AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
  ORDER BY c.relname`

/**
 * Whether row-level security applies to the role of this connection on every table with rows of tenants. It does not
 * apply to superusers and to roles with BYPASSRLS, and to the owner of a table only if it is forced.
 */
export async function isolationProblems(client: pg.ClientBase): Promise<IsolationProblem[]> {
  const { rows: roles } = await client.query<{ name: string; is_super: boolean; bypasses: boolean }>(ROLE)
  const { rows: tables } = await client.query<{ name: string }>(OPEN_TABLES, [GLOBAL_TABLES])
  const found: IsolationProblem[] = []
  for (const { name, is_super, bypasses } of roles) {
    if (!is_super && !bypasses) continue
    found.push({
      message: `The database role ${name} ${is_super ? 'is a superuser' : 'has BYPASSRLS'}, so row-level security does not keep tenants apart.`,
      fix: 'Connect with a role that has neither attribute; docs/security.md has the statements that create one.',
    })
  }
  if (tables.length > 0) {
    const names = tables.map(({ name }) => name)
    found.push({
      message: `Row-level security is not forced on the ${names.length === 1 ? 'table' : 'tables'} ${names.join(', ')}.`,
      fix: `Run as the owner: ${names.map((name) => `ALTER TABLE "${name}" ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;`).join(' ')} A table of another program belongs in another schema or database.`,
    })
  }
  return found
}
