import { PERMISSIONS } from '../../src/core/authorization.ts'
import { SCOPE_DESCRIPTIONS, SCOPES } from '../../src/core/scopes.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'

const BEGIN = '<!-- Generated from the catalogue of operations by scripts/protocol.ts: begin -->'
const END = '<!-- Generated: end -->'

/** docs/keys.md with updated tables of scopes and permissions. */
export function updatedKeysPage(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error('docs/keys.md has lost its markers')
  return `${page.slice(0, begin)}${BEGIN}\n\n${scopes()}\n\n${permissions()}\n\n${page.slice(end)}`
}

function scopes(): string {
  const rows = SCOPES.map((scope) => `| \`${scope}\` | ${SCOPE_DESCRIPTIONS[scope]} |`)
  return ['| Scope | |', '| --- | --- |', ...rows].join('\n')
}

/** Which roles and scopes each operation accepts. A caller needs one of the roles and, if limited, one of the scopes. */
function permissions(): string {
  const rows = OPERATIONS.map(({ name, access, needsPerson }) => {
    const { roles, scopes } = PERMISSIONS[access]
    const named = roles.filter((role) => role !== 'system').join(', ')
    const person = needsPerson ? ' (a person)' : ''
    return `| [${name}](protocol.md#${name}) | ${named}${person} | ${scopes.map((scope) => `\`${scope}\``).join(', ')} |`
  })
  return ['| Operation | Roles | Scopes, any of |', '| --- | --- | --- |', ...rows].join('\n')
}
