import { type Content, type Html, html, nothing } from './html.ts'
import { count } from './untrusted.ts'

/** What a page says after something was done. The path carries only which of these, and numbers. */
const NOTICES: Readonly<
  Record<string, (done: number, kept: number) => { text: string; kind: 'good' | 'plain' }>
> = {
  approved: () => good('Approved. The task is in the queue.'),
  remembered: () => good('Approved, and remembered: a new rule allows this until the date you gave.'),
  denied: () => good('Denied. The task is canceled.'),
  answered: () => good('Answered. The task is in the queue.'),
  canceled: (done, kept) =>
    good(
      `Canceled ${tasks(done)}.${kept > 0 ? ` ${tasks(kept)} had ended before, so they stay as they are.` : ''}`,
    ),
  canceled_some: (done) => plain(`Canceled ${tasks(done)}, and there are more. Cancel again to go on.`),
  none: () => plain('Nothing was selected.'),
  over: () => plain('The task had ended before, so it stays as it is.'),
  requested: () => good('Canceled. A worker that is at it is told to stop.'),
  retried: () => good('This is the new task, with the same input. The old one stays as it is.'),
  accepted: () => good('Accepted. The tool is offered again.'),
  saved: () => good('Saved. It applies from now on.'),
  removed: () => good('Removed.'),
  ended: (done) => good(`The session has ended.${done > 0 ? ` Canceled ${tasks(done)}.` : ''}`),
  elsewhere: () => plain('Another server has this session; it ends there by itself.'),
  left: () => plain('You are signed out.'),
}

function good(text: string) {
  return { text, kind: 'good' } as const
}

function plain(text: string) {
  return { text, kind: 'plain' } as const
}

function tasks(n: number): string {
  return n === 1 ? '1 task' : `${count(n)} tasks`
}

/** The notice that a path asks for, if any. */
export function notice(query: URLSearchParams): Html {
  const name = query.get('notice') ?? ''
  if (!Object.hasOwn(NOTICES, name)) return nothing
  const said = NOTICES[name]?.(number(query, 'done'), number(query, 'kept'))
  return said === undefined ? nothing : noticeBox(said.text, said.kind)
}

export function noticeBox(text: Content, kind: 'good' | 'plain' | 'bad'): Html {
  return html`<div class="notice ${kind}" role="status">${text}</div>`
}

function number(query: URLSearchParams, name: string): number {
  const value = Number(query.get(name))
  return Number.isSafeInteger(value) && value >= 0 ? value : 0
}
