/** The text and language of the fenced blocks of a page, in order. */
export function blocksOf(page: string): { readonly language: string; readonly text: string }[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)\n```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }))
}

/** The page without its fenced blocks. */
export function proseOf(page: string): string {
  return page.replace(/^```.*?^```$/gms, '')
}

/** The targets of the links of a page, without those to the web. */
export function linksOf(page: string): string[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
}

/** The anchors of the headings of a page, as GitHub generates them. */
export function anchorsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
