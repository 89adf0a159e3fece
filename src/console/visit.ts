import type { z } from 'zod'
import type { Permission } from '../core/authorization.ts'
import { type ErrorCode, Fault } from '../core/errors.ts'
import type { Operation } from '../features/define-operation.ts'
import type { Html } from '../util/html.ts'
import { type Fields, link, type Query } from './fields.ts'
import type { Section } from './navigation.ts'

export interface Page {
  readonly title: string
  /** The entry of the navigation that is highlighted. */
  readonly section?: Section
  readonly body: Html
  readonly status?: number
  /** The tasks whose changes update the page: all of them, or one. */
  readonly follows?: 'tasks' | { readonly task_id: string }
  /** The path that the browser loads next without a click. */
  readonly next?: string
  /** Interval in seconds between updates, for changes that no event announces. */
  readonly poll?: number
}

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

/** Content that is shown or saved by itself. */
export interface FileReply {
  readonly file: {
    /** The type that the server has checked or chosen; never one that a caller claims. */
    readonly type: 'text/plain; charset=utf-8' | 'application/json' | ImageType
    readonly content: string | Buffer
    /** The name under which browsers save it; they show it if this is absent. */
    readonly saveAs?: string | undefined
  }
}

export type Reply = Page | { readonly location: string } | FileReply

export function redirect(path: string, query: Query = {}): Reply {
  return { location: link(path, query) }
}

/** One request of a person who is signed in. */
export interface Visit {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Empty unless a form was sent. */
  readonly form: URLSearchParams
  /** The hidden field that every form must contain. */
  readonly token: string
  /** The time of the request, to which pages relate times. */
  readonly now: number
  /** Whether the person has a permission. Controls that the person may not use are not shown. */
  may(permission: Permission): boolean
  /** Why the form was refused, on the page that shows it again. */
  readonly fault?: Fault
  /** Runs an operation as the person who is signed in. Fields that are undefined are omitted. */
  call<Output extends z.ZodType<object>>(
    operation: Operation<string, z.ZodObject, Output>,
    input: Fields,
  ): Promise<z.output<Output>>
}

type Handler = (visit: Visit) => Promise<Reply>

export interface ConsoleRoute {
  readonly method: 'GET' | 'POST'
  /** Below /console; `{name}` stands for one segment. */
  readonly path: string
  readonly handle: Handler
}

export function page(path: string, handle: Handler): ConsoleRoute {
  return { method: 'GET', path, handle }
}

/** The route of a form. With `show`, a refused form is shown again with the error and everything that was typed. */
export function action(path: string, act: Handler, show?: Handler): ConsoleRoute {
  return {
    method: 'POST',
    path,
    async handle(visit) {
      try {
        return await act(visit)
      } catch (error) {
        if (show === undefined || !(error instanceof Fault)) throw error
        return show({ ...visit, fault: error })
      }
    },
  }
}

/** The result of a call, or `fallback` if it fails with this code. */
export async function unless<Result, Fallback>(
  code: ErrorCode,
  result: Promise<Result>,
  fallback: Fallback,
): Promise<Result | Fallback> {
  try {
    return await result
  } catch (error) {
    if (error instanceof Fault && error.code === code) return fallback
    throw error
  }
}
