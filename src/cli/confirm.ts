import { createInterface } from 'node:readline/promises'

/** Asks a person for a yes. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } catch {
    // Ctrl-C or Ctrl-D.
    return false
  } finally {
    terminal.close()
  }
}
