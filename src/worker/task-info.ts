import type { Offer } from '../client/operations.ts'

/** The task, as the server describes it. */
export type TaskInfo = Omit<Offer, 'lease_id' | 'fence' | 'attempt' | 'expires_at' | 'expires_in_ms'>
