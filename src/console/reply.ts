import type { Desk } from './desk.ts'
import type { Html } from './html.ts'

export interface Page {
  readonly kind: 'page'
  readonly title: string
  /** Which entry of the navigation it belongs to. */
  readonly place?: Place
  readonly body: Html
  readonly status?: number
  /** What it shows changes with tasks: all of them, or this one. */
  readonly follows?: 'tasks' | { readonly task_id: string }
  /** Where this page can be asked for, if not where it was. */
  readonly address?: string
  /** Where the browser goes by itself. */
  readonly onward?: string
  /** Seconds after which it is worth to look again, where nothing tells of a change. */
  readonly poll?: number
}

export const PLACES = ['approvals', 'tasks', 'sessions', 'upstreams', 'policies'] as const
export type Place = (typeof PLACES)[number]

export type Reply = Page | { readonly kind: 'redirect'; readonly to: string }

export function redirect(to: string): Reply {
  return { kind: 'redirect', to }
}

/** One visit of somebody who has signed in. */
export interface Visit {
  readonly desk: Desk
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Empty unless a form was sent. */
  readonly form: URLSearchParams
  /** To be put into every form. */
  readonly token: string
}

export interface ConsoleRoute {
  readonly method: 'GET' | 'POST'
  /** Below /console; `{name}` stands for one segment. */
  readonly path: string
  handle(visit: Visit): Promise<Reply>
}
