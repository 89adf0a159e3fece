import { readFileSync } from 'node:fs'

/** The text of a file of the repository. */
export function repositoryText(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}

/** The rows of the Markdown table whose first column has this title, as cells by column title. */
export function markdownTable(text: string, firstColumn: string): Record<string, string>[] {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => cells(line)[0] === firstColumn)
  if (start < 0) throw new Error(`No table begins with ${firstColumn}.`)
  const titles = cells(lines[start] ?? '')
  const rows: Record<string, string>[] = []
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith('|')) break
    const values = cells(line)
    if (values.length !== titles.length) throw new Error(`Not ${titles.length} cells: ${line}`)
    rows.push(Object.fromEntries(titles.map((title, i) => [title, values[i] ?? ''])))
  }
  return rows
}

/** The words in backquotes, in order. */
export function codeWords(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '')
}

function cells(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}
