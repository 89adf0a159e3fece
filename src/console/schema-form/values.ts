import { invalid } from '../../core/errors.ts'
import type { Json } from '../../core/json/json.ts'
import { parseJson } from '../../core/json/text.ts'
import { jsonText } from '../../engine/stored-json.ts'
import { jsonIn } from '../fields.ts'
import { type Field, MAX_ITEMS } from './field.ts'

/**
 * A place in a form. Its name is a JSON pointer and unique; its path is how errors name it. A place is certain if the
 * payload contains it whatever is entered, because it and everything around it is required.
 */
export interface Place {
  readonly name: string
  readonly path: string
  readonly isCertain: boolean
}

export const ROOT: Place = { name: '', path: 'payload', isCertain: true }

export function memberOf(place: Place, name: string, isRequired: boolean): Place {
  return {
    name: `${place.name}/${escaped(name)}`,
    path: `${place.path}.${name}`,
    isCertain: place.isCertain && isRequired,
  }
}

/** An item of a list. Empty items are left out, so that its position in the payload can differ from its name. */
export function itemOf(place: Place, slot: number, position: number | undefined): Place {
  return { name: `${place.name}/${slot}`, path: `${place.path}[${position ?? ''}]`, isCertain: false }
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The name of the hidden field with the number of items that a list shows. */
export function sizeName({ name }: Place): string {
  return `size:${name}`
}

/** Number of items that a list shows. */
export function sizeIn(sent: URLSearchParams, place: Place): number {
  const size = Number(sent.get(sizeName(place)))
  return Number.isInteger(size) && size > 0 ? Math.min(size, MAX_ITEMS) : 1
}

/** The value that was entered; undefined if none was. Throws a fault that names the path of a wrong value. */
export function valueIn(field: Field, place: Place, sent: URLSearchParams): Json | undefined {
  const text = (sent.get(place.name) ?? '').replaceAll('\r\n', '\n')
  switch (field.kind) {
    case 'text':
      return text === '' ? undefined : text
    case 'number':
      return text.trim() === '' ? undefined : numberOf(text.trim(), field.isInteger, place)
    case 'boolean':
      if (text === '') return place.isCertain ? false : undefined
      return text === 'true'
    case 'choice':
      return text === '' ? undefined : optionOf(field.options, text, place)
    case 'json':
      return jsonAt(place, sent)
    case 'object': {
      const values = field.members.flatMap(({ name, isRequired, field: member }): [string, Json][] => {
        const value = valueIn(member, memberOf(place, name, isRequired), sent)
        return value === undefined ? [] : [[name, value]]
      })
      return values.length > 0 || place.isCertain ? Object.fromEntries(values) : undefined
    }
    case 'list': {
      const items: Json[] = []
      for (let slot = 0; slot < sizeIn(sent, place); slot++) {
        const value = valueIn(field.item, itemOf(place, slot, items.length), sent)
        if (value !== undefined) items.push(value)
      }
      return items.length > 0 || place.isCertain ? items : undefined
    }
  }
}

function numberOf(text: string, isInteger: boolean, { path }: Place): Json {
  const plain = text.replace(/^\+/, '')
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(plain)) throw invalid(path, 'is not a number')
  if (isInteger && !/^-?\d+$/.test(plain)) throw invalid(path, 'is not an integer')
  try {
    return parseJson(plain.replace(/^(-?)0+(?=\d)/, '$1'))
  } catch {
    throw invalid(path, 'has more digits than can be stored')
  }
}

function optionOf(options: readonly Json[], text: string, { path }: Place): Json {
  const option = options.find((each) => jsonText(each) === text)
  if (option === undefined) throw invalid(path, 'is not one of the choices')
  return option
}

function jsonAt({ name, path }: Place, sent: URLSearchParams): Json | undefined {
  try {
    return jsonIn(sent, name)
  } catch {
    throw invalid(path, 'is not valid JSON; texts need quotation marks')
  }
}

/** Whether nothing was entered. */
export function isBlank(field: Field, place: Place, sent: URLSearchParams): boolean {
  switch (field.kind) {
    case 'object':
      return field.members.every(({ name, field: member }) =>
        isBlank(member, memberOf(place, name, false), sent),
      )
    case 'list':
      return Array.from({ length: sizeIn(sent, place) }, (_, slot) => itemOf(place, slot, slot)).every(
        (item) => isBlank(field.item, item, sent),
      )
    default:
      return (sent.get(place.name) ?? '').trim() === ''
  }
}

/** The fields of a form that contains the defaults. Parts that may be absent have none, so that they stay absent. */
export function defaultsOf(field: Field): URLSearchParams {
  const sent = new URLSearchParams()
  fill(field, ROOT, sent)
  return sent
}

function fill(field: Field, place: Place, sent: URLSearchParams): void {
  if (field.kind === 'object') {
    for (const { name, isRequired, field: member } of field.members) {
      // A member without members of its own can be present alone.
      const isLeaf = member.kind !== 'object'
      if (isLeaf || isRequired) fill(member, memberOf(place, name, isRequired), sent)
    }
    return
  }
  if (field.default === undefined || field.default === null) return
  if (field.kind === 'list') fillList(field, place, sent)
  else sent.set(place.name, textOf(field, field.default))
}

function fillList(field: Field & { readonly kind: 'list' }, place: Place, sent: URLSearchParams): void {
  const { default: items, item } = field
  if (!Array.isArray(items) || item.kind === 'object') return
  sent.set(sizeName(place), String(Math.min(items.length + 1, field.max)))
  for (const [slot, value] of items.slice(0, field.max).entries()) {
    sent.set(itemOf(place, slot, slot).name, textOf(item, value))
  }
}

function textOf({ kind }: Field, value: Json): string {
  return kind === 'text' && typeof value === 'string' ? value : jsonText(value)
}
