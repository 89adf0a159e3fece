import { describe, expect, it } from 'vitest'
import { AUDIT_EVENTS } from '../../src/features/audit/port.ts'
import { repositoryText } from '../core/documents.ts'

describe('docs/audit.md', () => {
  it('lists every event as the source defines it', () => {
    const rows = Object.entries(AUDIT_EVENTS).map(
      ([name, { severity, outcome, meaning }]) => `| \`${name}\` | ${severity} | ${outcome} | ${meaning} |`,
    )
    expect(repositoryText('docs/audit.md')).toContain(
      ['| Event | Severity | Outcome | Meaning |', '| --- | --- | --- | --- |', ...rows, ''].join('\n'),
    )
  })
})
