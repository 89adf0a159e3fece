import { z } from 'zod'

/** Items per page. */
export const pageLimit = z.int().min(1).max(200).default(50)
