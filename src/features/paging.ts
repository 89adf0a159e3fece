import { z } from 'zod'
import { text } from './input.ts'

export const pageLimit = z.int().min(1).max(200).default(50).describe('Maximum number of items per page')

export const cursor = text(512)
  .optional()
  .describe('next_cursor of the previous page; the other fields must be the same as for that page')

export const nextCursor = z
  .string()
  .nullable()
  .describe('Send it as cursor to get the next page; null on the last page')
