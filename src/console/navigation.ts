import type { Permission } from '../core/authorization.ts'
import { type Html, html } from '../util/html.ts'

interface Entry {
  readonly label: string
  /** What the list on the page requires. Visitors without it do not see the entry. */
  readonly needs: Permission
  /** The key after `g` that opens the page. */
  readonly key: string
  /** The shapes of a 16 by 16 icon, drawn as lines. */
  readonly icon: Html
}

export type Section =
  | 'overview'
  | 'approvals'
  | 'tasks'
  | 'schedules'
  | 'types'
  | 'agents'
  | 'workers'
  | 'sessions'
  | 'upstreams'
  | 'policies'
  | 'limits'
  | 'keys'
  | 'clients'
  | 'identities'
  | 'receipts'
  | 'audit'
  | 'usage'
  | 'retention'

/** The pages of the navigation. The name of an entry is its path below /console. */
export const SECTIONS: Readonly<Record<Section, Entry>> = {
  overview: {
    ...{ label: 'Overview', needs: 'inspect', key: 'o' },
    icon: html`<path d="M2.5 13.5h11M4 11V8M8 11V4M12 11V6.5"/>`,
  },
  approvals: {
    ...{ label: 'Approvals', needs: 'list', key: 'a' },
    icon: html`<circle cx="8" cy="8" r="6"/><path d="m5.5 8 2 2 3-4"/>`,
  },
  tasks: {
    ...{ label: 'Tasks', needs: 'list', key: 't' },
    icon: html`<path d="M6 4h8M6 8h8M6 12h8M2.5 4h.5M2.5 8h.5M2.5 12h.5"/>`,
  },
  schedules: {
    ...{ label: 'Schedules', needs: 'list', key: 'c' },
    icon: html`<circle cx="8" cy="8" r="6"/><path d="M8 4.5V8l2.5 1.5"/>`,
  },
  types: {
    ...{ label: 'Task types', needs: 'read', key: 'y' },
    icon: html`<path d="m8 2 5.5 3v6L8 14l-5.5-3V5zM2.5 5 8 8l5.5-3M8 8v6"/>`,
  },
  agents: {
    ...{ label: 'Agents', needs: 'inspect', key: 'n' },
    icon: html`<circle cx="8" cy="5.5" r="2.5"/><path d="M3 13.5c.5-3 2.3-4 5-4s4.5 1 5 4"/>`,
  },
  workers: {
    ...{ label: 'Workers', needs: 'read', key: 'w' },
    icon: html`<rect x="2" y="3" width="12" height="4" rx="1"/><rect x="2" y="9" width="12" height="4" rx="1"/><path d="M4.5 5h.5M4.5 11h.5"/>`,
  },
  sessions: {
    ...{ label: 'Sessions', needs: 'list', key: 's' },
    icon: html`<rect x="2" y="3" width="12" height="8.5" rx="1"/><path d="M5.5 14h5M8 11.5V14"/>`,
  },
  upstreams: {
    ...{ label: 'Upstreams', needs: 'inspect', key: 'u' },
    icon: html`<path d="M8 13.5V7M4.5 10 8 6.5 11.5 10M3 3h10"/>`,
  },
  policies: {
    ...{ label: 'Policies', needs: 'inspect', key: 'p' },
    icon: html`<path d="M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4z"/>`,
  },
  limits: {
    ...{ label: 'Limits', needs: 'read', key: 'l' },
    icon: html`<path d="M2.5 12a6 6 0 1 1 11 0M8 9l2.5-3"/>`,
  },
  keys: {
    ...{ label: 'Keys', needs: 'audit', key: 'k' },
    icon: html`<circle cx="5" cy="8" r="2.5"/><path d="M7.5 8H14M12 8v2.5"/>`,
  },
  clients: {
    ...{ label: 'Clients', needs: 'audit', key: 'e' },
    icon: html`<rect x="3" y="2" width="10" height="12" rx="1.5"/><path d="M6.5 11.5h3"/>`,
  },
  identities: {
    ...{ label: 'Identities', needs: 'audit', key: 'i' },
    icon: html`<rect x="2" y="3" width="12" height="10" rx="1"/><circle cx="6" cy="7" r="1.5"/><path d="M4 11c.3-1 1-1.5 2-1.5s1.7.5 2 1.5M10 6.5h2M10 9h2"/>`,
  },
  receipts: {
    ...{ label: 'Receipts', needs: 'receipts', key: 'r' },
    icon: html`<path d="M4 2v12l1.5-1L7 14l1-1 1 1 1.5-1 1.5 1V2zM6 5.5h4M6 8.5h4"/>`,
  },
  audit: {
    ...{ label: 'Audit', needs: 'audit', key: 'd' },
    icon: html`<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3 3"/>`,
  },
  usage: {
    ...{ label: 'Usage', needs: 'audit', key: 'g' },
    icon: html`<path d="M2 12.5 6 8l2.5 2.5L14 4M10.5 4H14v3.5"/>`,
  },
  retention: {
    ...{ label: 'Retention', needs: 'audit', key: 'x' },
    icon: html`<rect x="2" y="3" width="12" height="3" rx=".5"/><path d="M3 6v7h10V6M6.5 9h3"/>`,
  },
}

interface Group {
  readonly label: string
  readonly sections: readonly Section[]
}

export const GROUPS: readonly Group[] = [
  { label: 'Work', sections: ['overview', 'approvals', 'tasks', 'schedules', 'types'] },
  { label: 'People and programs', sections: ['agents', 'workers', 'sessions', 'upstreams'] },
  { label: 'Rules', sections: ['policies', 'limits', 'keys', 'clients', 'identities'] },
  { label: 'Records', sections: ['receipts', 'audit', 'usage', 'retention'] },
]

export function pathOf(section: Section): string {
  return `/console/${section}`
}

/** The groups with only those sections that fit. Empty groups are omitted. */
export function groupsOf(fits: (section: Section) => boolean): readonly Group[] {
  return GROUPS.map(({ label, sections }) => ({ label, sections: sections.filter(fits) })).filter(
    ({ sections }) => sections.length > 0,
  )
}
