import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Json } from '../../core/json/json.ts'

const MAX_LENGTH = 200
const PATH = /^[^.\s\0]+(\.[^.\s\0]+)*$/

/** The location of one value in a payload: the names of members, separated by dots. */
export const payloadPath = z
  .string()
  .max(MAX_LENGTH)
  .regex(PATH, 'is not a path of member names such as order_id or customer.id')

/** A value that can be a key. Others, and absent ones, are undefined. */
export function keyAt(payload: Json | undefined, path: string): string | undefined {
  let value: unknown = payload
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
  }
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

const MAX_KEY = 255

/** The key itself, or its digest if it is too long or cannot be stored. */
export function shortKey(key: string): string {
  const isKey = key.length <= MAX_KEY && key.isWellFormed() && !key.includes('\0')
  return isKey ? key : `sha256:${hash('sha256', key)}`
}
