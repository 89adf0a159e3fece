import { z } from 'zod'
import type { Kind } from './kinds.ts'

/** What the table says of a setting besides its name. */
export interface About {
  /** How a value is written. */
  readonly form: string
  readonly doc: string
  /** The value when nothing sets it; or, as text, how it is worked out. */
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
      context.addIssue(`is not ${kind.form}`)
      return z.NEVER
    })
    .register(about, { form: kind.form, doc, fallback, secret: false, ...extra })
}
