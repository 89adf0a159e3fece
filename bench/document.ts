/** Replaces what is between the markers of a section. The rest of the text is not changed. */
export function replaceSection(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- bench ${name}: begin -->`, `<!-- bench ${name}: end -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`the document has no section between "${begin}" and "${end}"`)
  return `${text.slice(0, from + begin.length)}\n${content.trim()}\n${text.slice(to)}`
}

export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}
