import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import type { Desk } from './desk.ts'
import type { Pending } from './layout.ts'

const LIMIT = 99

const listShape = z.object({ approvals: z.array(z.unknown()), next_cursor: z.string().nullable() })

/** How many approvals wait. A page that has something else to show is shown without. */
export async function pendingApprovals(desk: Desk): Promise<Pending | undefined> {
  try {
    const found = await desk.call('list_approvals', { state: 'open', limit: LIMIT }, listShape)
    return { count: found.approvals.length, more: found.next_cursor !== null }
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}
