import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StartReport } from '../../src/cli/commands/gateway/start.ts'
import { until } from '../gateway/calls/support.ts'
import { isAlive, spawnGateway } from '../gateway/support/gateway-process.ts'
import { cli } from './support.ts'

/** A program that never responds to the MCP handshake. It writes its process id to a file. */
const SILENT = [
  process.execPath,
  '-e',
  "require('node:fs').writeFileSync('pid', String(process.pid)); console.error('Fetching things'); setInterval(() => {}, 1000)",
]

/** Waits for the process id of the silent program. */
async function silentPid(cwd: string): Promise<number> {
  const file = join(cwd, 'pid')
  await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '')
  return Number(readFileSync(file, 'utf8'))
}

describe('the start of asyncgate gateway', () => {
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    it(`gateway prints the command, and ends with its program on the first ${signal}`, async () => {
      const { cwd, child, ended, wrote } = spawnGateway(SILENT)
      await wrote('Starting ')
      await wrote('Waiting for it to respond as an MCP server (at most 30 s)')
      const pid = await silentPid(cwd)
      child.kill(signal)
      expect((await ended).code).toBe(code)
      await until(() => !isAlive(pid))
    })
  }

  it('a connect timeout is reported with the last stderr lines and a hint', async () => {
    const { cwd, ended } = spawnGateway(SILENT, { options: ['--connect-timeout', '1'] })
    const { code, stderr } = await ended
    expect(code).toBe(1)
    expect(stderr).toContain('There was no response to the MCP handshake within 1 s')
    expect(stderr).toContain('Its last lines on stderr:\n  Fetching things')
    expect(stderr).toContain('use --connect-timeout SECONDS to wait longer')
    const pid = await silentPid(cwd)
    await until(() => !isAlive(pid))
  })

  it('a program that ends is reported with its exit code and last lines', async () => {
    const program = "console.error('No token'); process.exitCode = 3"
    const { code, stderr } = await spawnGateway([process.execPath, '-e', program]).ended
    expect(code).toBe(1)
    expect(stderr).toContain('the program ended with code 3: No token')
    expect(stderr).not.toContain('--connect-timeout')
  })

  it('waits for the exit code of a program that closes its input before it exits', async () => {
    const program =
      "process.stdin.destroy(); setTimeout(() => { console.error('No token'); process.exit(3) }, 300)"
    const { code, stderr } = await spawnGateway([process.execPath, '-e', program]).ended
    expect(code).toBe(1)
    expect(stderr).toContain('the program ended with code 3: No token')
  })

  it('a missing program is reported', async () => {
    const { code, stderr } = await spawnGateway(['no-such-program-here']).ended
    expect(code).toBe(1)
    expect(stderr).toContain('There is no program no-such-program-here (ENOENT)')
  })

  it('an invalid connect timeout is refused', async () => {
    for (const value of ['0', '601', 'soon']) {
      const { code, stderr } = await cli(['gateway', '--connect-timeout', value, '--', 'x'])
      expect(code).toBe(2)
      expect(stderr).toContain('--connect-timeout takes')
    }
  })
})

describe('start report', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const starting = { name: 'files', command: ['npx', 'x'], connectTimeoutMs: 30_000 }

  it('the report repeats after three seconds and then every ten, with the last lines of the program and one hint', () => {
    const said: string[] = []
    const report = new StartReport(starting, (line) => said.push(line))
    expect(said.splice(0)).toEqual([
      'Starting files: npx x',
      'Waiting for it to respond as an MCP server (at most 30 s)...',
    ])
    vi.advanceTimersByTime(3_000)
    expect(said.splice(0)).toEqual([
      'files has not responded after 3 s. It has written nothing to stderr.',
      expect.stringContaining('--connect-timeout SECONDS'),
    ])
    for (let n = 1; n <= 7; n++) report.record(`line ${n}`)
    vi.advanceTimersByTime(10_000)
    const lines = [3, 4, 5, 6, 7].map((n) => `  line ${n}`)
    expect(said.splice(0)).toEqual([
      ['files has not responded after 13 s. Its last lines on stderr:', ...lines].join('\n'),
    ])
    report.end()
    vi.advanceTimersByTime(60_000)
    expect(said).toEqual([])
  })
})
