import { describe, expect, it } from 'vitest'
import { operationsFile } from '../../scripts/client-types/file.ts'
import { bodyOf, type Style, typeOf } from '../../scripts/client-types/typescript.ts'
import type { Schema } from '../../scripts/protocol/schema.ts'
import { repositoryText } from '../core/documents.ts'

const style: Style = { io: 'input', nameOf: () => undefined }
const answer: Style = { ...style, io: 'answer' }

describe('src/client/operations.ts', () => {
  it('the file matches the catalogue (npm run client-types writes it)', () => {
    expect(repositoryText('src/client/operations.ts')).toBe(operationsFile())
  })
})

const CASES: readonly (readonly [Schema, string])[] = [
  [{ type: 'string' }, 'string'],
  [{ type: 'integer', minimum: 1 }, 'number'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
  [{ anyOf: [{ type: 'string' }, { type: 'string', format: 'date-time' }] }, 'string'],
  [{ enum: ['a', "it's"] }, "'a' | 'it\\'s'"],
  [{ const: true }, 'true'],
  [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } }, 'readonly (string | null)[]'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Readonly<Record<string, number>>'],
  [{ type: 'object' }, 'object'],
  [{}, 'unknown'],
]

describe('types of schemas', () => {
  it.each(CASES)('%j is %s', (schema, type) => {
    expect(typeOf(schema, style)).toBe(type)
  })

  it('optional properties are marked, and results are read-only', () => {
    const schema: Schema = {
      type: 'object',
      properties: { id: { type: 'string' }, n: { type: 'number' }, any: {} },
      required: ['id'],
    }
    expect(bodyOf(schema, style)).toBe('{\nid: string\nn?: number | undefined\nany?: unknown\n}')
    expect(bodyOf(schema, answer)).toBe(
      '{\nreadonly id: string\nreadonly n?: number\nreadonly any?: unknown\n}',
    )
  })
})
