import { isUuid } from '../../core/ids.ts'

/** The identifiers that PostgreSQL has for its types. */
const TYPES = { smallint: 21, int: 23, bigint: 20, float8: 701, boolean: 16, uuid: 2950, text: 25 } as const
const WIDTHS = { smallint: 2, int: 4, bigint: 8, float8: 8, boolean: 1, uuid: 16 } as const

export type SqlType = keyof typeof TYPES

type Value = number | boolean | string | null

const HEADER = 20
const LENGTH = 4
const NULL = -1

/**
 * An array parameter in PostgreSQL's binary format. Unlike an array literal, neither side has to quote and parse it: that
 * took as long as writing the rows.
 */
export function arrayOf(type: SqlType, values: readonly Value[]): Buffer {
  return type === 'text' ? textArray(values) : fixedArray(type, values)
}

function textArray(values: readonly Value[]): Buffer {
  let size = HEADER + LENGTH * values.length
  for (const value of values) if (value !== null) size += Buffer.byteLength(String(value))
  const buffer = headed('text', values, size)
  let at = HEADER
  for (const value of values) {
    const length = value === null ? NULL : buffer.write(String(value), at + LENGTH)
    buffer.writeInt32BE(length, at)
    at += LENGTH + Math.max(0, length)
  }
  return buffer
}

function fixedArray(type: Exclude<SqlType, 'text'>, values: readonly Value[]): Buffer {
  const width = WIDTHS[type]
  let size = HEADER + LENGTH * values.length
  for (const value of values) if (value !== null) size += width
  const buffer = headed(type, values, size)
  let at = HEADER
  for (const value of values) {
    buffer.writeInt32BE(value === null ? NULL : width, at)
    at += LENGTH
    if (value === null) continue
    writeFixed(buffer, at, type, value)
    at += width
  }
  return buffer
}

/** One dimension whose elements count from 1; none for an empty array. */
function headed(type: SqlType, values: readonly Value[], size: number): Buffer {
  const buffer = Buffer.allocUnsafe(values.length === 0 ? 12 : size)
  buffer.writeInt32BE(values.length === 0 ? 0 : 1, 0)
  buffer.writeInt32BE(values.includes(null) ? 1 : 0, 4)
  buffer.writeInt32BE(TYPES[type], 8)
  if (values.length === 0) return buffer
  buffer.writeInt32BE(values.length, 12)
  buffer.writeInt32BE(1, 16)
  return buffer
}

function writeFixed(
  buffer: Buffer,
  at: number,
  type: Exclude<SqlType, 'text'>,
  value: string | number | boolean,
) {
  switch (type) {
    case 'smallint':
      return buffer.writeInt16BE(Number(value), at)
    case 'int':
      return buffer.writeInt32BE(Number(value), at)
    case 'bigint':
      return writeInt64(buffer, at, Number(value))
    case 'float8':
      return buffer.writeDoubleBE(Number(value), at)
    case 'boolean':
      return buffer.writeInt8(value ? 1 : 0, at)
    case 'uuid':
      if (!isUuid(String(value))) throw new Error(`${value} is not a UUID`)
      return buffer.write(String(value).replaceAll('-', ''), at, 'hex')
  }
}

/** All our 64-bit numbers are safe integers, and a BigInt would be made for each of them. */
function writeInt64(buffer: Buffer, at: number, value: number): void {
  if (!Number.isSafeInteger(value)) throw new Error(`${value} is not a whole number`)
  const high = Math.floor(value / 2 ** 32)
  buffer.writeInt32BE(high, at)
  buffer.writeUInt32BE(value - high * 2 ** 32, at + 4)
}
