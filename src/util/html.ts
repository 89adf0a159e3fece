class Markup {
  readonly #markup: string

  constructor(markup: string) {
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

/** Escaped markup. Only `html` creates it. */
export type Html = Markup

/** The content of a template. Text is escaped; null, undefined and false are omitted. */
export type Content = Html | string | number | null | undefined | false | readonly Content[]

/** A template: every value is escaped, unless it is the result of another template. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Html {
  let markup = parts[0] ?? ''
  for (const [i, content] of contents.entries()) markup += render(content) + (parts[i + 1] ?? '')
  return new Markup(markup)
}

export const nothing = html``

function render(content: Content): string {
  if (content === null || content === undefined || content === false) return ''
  if (content instanceof Markup) return content.toString()
  if (typeof content === 'object') return content.map(render).join('')
  return escaped(String(content))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
