import { z } from 'zod'
import { PRINCIPAL_KINDS } from '../core/principal.ts'

/** A time in a response: ISO 8601 UTC with milliseconds. */
export const time = z.iso.datetime()

export const principalShape = z.object({
  kind: z.enum(PRINCIPAL_KINDS).describe('Kind of the principal'),
  id: z.string().describe('Name of the principal, unique within its kind'),
})
