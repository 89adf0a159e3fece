class Markup {
  readonly #markup: string

  constructor(markup: string) {
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

/** A piece of a page that is safe to send as it is. Only `html` makes one. */
export type Html = Markup

/** What a page may contain. Texts are escaped; what is absent or false is left out. */
export type Content = Html | string | number | null | undefined | false | readonly Content[]

/** A piece of a page: everything that is put into it is escaped, unless it was made here itself. */
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
