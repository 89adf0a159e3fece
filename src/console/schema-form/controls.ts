import type { Fault } from '../../core/errors.ts'
import { jsonText } from '../../engine/stored-json.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { hidden, line } from '../components.ts'
import type { Field } from './field.ts'
import { isBlank, itemOf, memberOf, type Place, ROOT, sizeIn, sizeName } from './values.ts'

/** What was entered, and what is wrong with it. */
export interface Entered {
  readonly sent: URLSearchParams
  readonly fault: Fault | undefined
}

/** The controls of a form. Every value from the schema is text. */
export function controls(form: Field & { readonly kind: 'object' }, entered: Entered): Html {
  return new Controls(entered).members(form, ROOT)
}

const INPUT_TYPES: Readonly<Record<string, string>> = { email: 'email', uri: 'url', date: 'date' }

class Controls {
  readonly #sent: URLSearchParams
  readonly #fault: Fault | undefined
  #count = 0

  constructor({ sent, fault }: Entered) {
    this.#sent = sent
    this.#fault = fault
  }

  members(field: Field & { readonly kind: 'object' }, place: Place): Html {
    return html`${field.members.map(({ name, isRequired, field: member }) =>
      this.#field(
        html`${line(member.title ?? name, 100)}${isRequired && html` <span class="soft">required</span>`}`,
        member,
        memberOf(place, name, isRequired),
      ),
    )}`
  }

  #field(label: Content, field: Field, place: Place): Html {
    if (field.kind === 'object') {
      return html`<fieldset class="group"><legend>${label}</legend>${hintOf(field)}${this.#problem(place)}${this.members(field, place)}</fieldset>`
    }
    if (field.kind === 'list') return this.#list(label, field, place)
    const id = `p${this.#count++}`
    const problem = this.#problem(place, `${id}-problem`, field.kind === 'json')
    const described = [
      field.description !== undefined && `${id}-hint`,
      problem !== false && `${id}-problem`,
    ].filter((each) => each !== false)
    const attributes = html`id="${id}" name="${place.name}"${described.length > 0 && html` aria-describedby="${described.join(' ')}"`}${problem !== false && html` aria-invalid="true"`}`
    return html`<div class="field"><label for="${id}">${label}</label>${this.#control(field, place, attributes)}${hintOf(field, `${id}-hint`)}${problem}</div>`
  }

  #control(field: Field, place: Place, attributes: Html): Html {
    const value = this.#sent.get(place.name) ?? ''
    const isNeeded = place.isCertain && html` required`
    switch (field.kind) {
      case 'text': {
        const type = INPUT_TYPES[field.format ?? '']
        if (type === undefined && !field.isShort) {
          return html`<textarea class="grow" rows="1" ${attributes}${isNeeded}>${value}</textarea>`
        }
        return html`<input type="${type ?? 'text'}" ${attributes} value="${value}" autocomplete="off"${isNeeded}>`
      }
      case 'number':
        return html`<input inputmode="${field.isInteger ? 'numeric' : 'decimal'}" ${attributes} value="${value}" autocomplete="off"${isNeeded}>`
      case 'boolean':
        return select(
          attributes,
          value || (place.isCertain ? 'false' : ''),
          [
            ['true', 'yes'],
            ['false', 'no'],
          ],
          place.isCertain,
        )
      case 'choice':
        return select(
          attributes,
          value,
          field.options.map((option): [string, string] => [
            jsonText(option),
            typeof option === 'string' ? option : jsonText(option),
          ]),
          place.isCertain && field.options.length === 1,
        )
      default:
        return html`<textarea class="code grow" rows="2" spellcheck="false" placeholder="JSON" ${attributes}>${value}</textarea>`
    }
  }

  /** The items that were entered, and at least one to fill in. A button adds more, also without script. */
  #list(label: Content, field: Field & { readonly kind: 'list' }, place: Place): Html {
    let position = 0
    const items = Array.from({ length: Math.min(sizeIn(this.#sent, place), field.max) }, (_, slot) => {
      // An empty item is not in the payload, so that no error names it.
      const isAbsent = isBlank(field.item, itemOf(place, slot, position), this.#sent)
      const item = itemOf(place, slot, isAbsent ? undefined : position++)
      return this.#field(html`<span class="soft">${slot + 1}</span>`, field.item, item)
    })
    return html`<fieldset class="group list"><legend>${label}</legend>${hintOf(field)}${this.#problem(place)}${hidden({ [sizeName(place)]: items.length })}${items}
${items.length < field.max && html`<button class="button small" name="add" value="${place.name}" formnovalidate>Add another</button>`}</fieldset>`
  }

  /** What is wrong with a value. JSON that was entered as a whole also shows what is wrong inside of it. */
  #problem({ path }: Place, id?: string, isWhole = false): Html | false {
    const { path: wrong, problem } = this.#fault?.details ?? {}
    if (typeof wrong !== 'string') return false
    const inside = isWhole && (wrong.startsWith(`${path}.`) || wrong.startsWith(`${path}[`))
    if (wrong !== path && !inside) return false
    const words = inside ? `${wrong.slice(path.length)}: ${problem}` : String(problem)
    return html`<p class="field-problem"${id !== undefined && html` id="${id}"`}>${line(words, 300)}</p>`
  }
}

function select(
  attributes: Html,
  chosen: string,
  options: readonly (readonly [value: string, label: string])[],
  isCertain: boolean,
): Html {
  return html`<select ${attributes}>${!isCertain && html`<option value="">–</option>`}${options.map(
    ([value, label]) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${line(label, 100)}</option>`,
  )}</select>`
}

function hintOf({ description }: Field, id?: string): Content {
  return (
    description !== undefined &&
    html`<p class="hint"${id !== undefined && html` id="${id}"`}>${line(description, 400)}</p>`
  )
}
