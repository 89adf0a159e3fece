import { z } from 'zod'
import type { Kind } from './kinds.ts'

/** The description of a setting. */
export interface About {
  /** The format of a value. */
  readonly format: string
  readonly doc: string
  /** The default; or, as text, how it is determined. */
  readonly fallback: unknown
  readonly secret: boolean
}

export const about = z.registry<About>()

export function setting<T>(kind: Kind<T>, fallback: NoInfer<T>, doc: string, extra: Partial<About> = {}) {
  return z
    .unknown()
    .transform((value, context) => {
      if (value === undefined) return fallback
      const read = kind.read(value)
      if (read !== undefined) return read
      context.addIssue(`is not ${kind.format}`)
      return z.NEVER
    })
    .register(about, { format: kind.format, doc, fallback, secret: false, ...extra })
}
