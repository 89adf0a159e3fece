import { afterEach, describe, expect, it, vi } from 'vitest'
import { Output, ProgressLine, paint } from '../../src/cli/output.ts'

const ESCAPE = '\u001b'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

function onTerminal(isTerminal: boolean): void {
  for (const stream of [process.stdout, process.stderr]) {
    Object.defineProperty(stream, 'isTTY', { value: isTerminal, configurable: true })
  }
}

function written(stream: NodeJS.WriteStream, work: () => void): string {
  let text = ''
  const spy = vi.spyOn(stream, 'write').mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  work()
  spy.mockRestore()
  return text
}

describe('colors and the progress line', () => {
  it('colors and progress appear on a terminal only, and not with NO_COLOR', () => {
    vi.stubEnv('NO_COLOR', '')
    vi.stubEnv('TERM', 'xterm')
    onTerminal(true)
    expect(paint('red', 'x')).toContain(ESCAPE)
    expect(written(process.stderr, () => new ProgressLine().show('half'))).toContain('half')
    vi.stubEnv('NO_COLOR', '1')
    expect(paint('red', 'x')).toBe('x')
    vi.stubEnv('NO_COLOR', '')
    onTerminal(false)
    expect(paint('red', 'x')).toBe('x')
    expect(written(process.stderr, () => new ProgressLine().show('half'))).toBe('')
  })
})

describe('tables', () => {
  it('a table has columns as wide as their widest cell, and is not printed with --json', () => {
    const table = (json: boolean) =>
      written(process.stdout, () =>
        new Output(json).table(
          ['A', 'STATUS'],
          [
            ['long one', 'failed'],
            ['b', ''],
          ],
        ),
      )
    expect(table(false)).toBe('A         STATUS\nlong one  failed\nb\n')
    expect(table(true)).toBe('')
  })
})
