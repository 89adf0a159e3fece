import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { cli, startServer, testFolder } from './support.ts'

/** The commands on a new SQLite database, with a quota in the settings. */
function commands() {
  const folder = testFolder()
  const env = {
    ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    ASYNCGATE_MAX_TERMINAL_TASKS: '77',
    ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
    ASYNCGATE_RATE_LIMIT_ENABLED: 'true',
  }
  const run = (...args: string[]) => cli(args, env)
  return { folder, env, run }
}

describe('asyncgate limits', () => {
  it('set changes limits of a tenant, show prints them, and default returns to the settings', async () => {
    const { run } = commands()
    const tenant = ['--tenant', 'acme']
    const set = await run(
      ...['limits', 'set', ...tenant, '--tier', 'free', '--tasks', '5/1h'],
      ...[
        '--quota',
        'max_active_tasks=3',
        '--principal',
        'agent:bot',
        '--bypass',
        'load test',
        '--expires',
        '1d',
      ],
    )
    expect(set).toMatchObject({ code: 0, stderr: '' })
    const { stdout } = await run('limits', 'show', ...tenant)
    expect(stdout).toMatch(/^tier +free$/m)
    expect(stdout).toMatch(/^new tasks +5\/3600s$/m)
    expect(stdout).toMatch(/^max_active_tasks +3 +0$/m)
    expect(stdout).toMatch(/^max_terminal_tasks +77 +0$/m)
    expect(stdout).toMatch(/^agent:bot +load test$/m)
    const back = ['--tier', 'default', '--quota', 'max_active_tasks=default']
    const { stdout: json } = await run('limits', 'set', ...tenant, ...back, '--json')
    expect(JSON.parse(json)).toMatchObject({
      tier: null,
      quotas: expect.arrayContaining([{ quota: 'max_active_tasks', limit: -1, used: 0 }]),
    })
  })

  it.each([
    [['--tasks', 'many'], '--tasks takes a rate like 100/60s'],
    [['--quota', 'max_active_tasks=x'], '--quota max_active_tasks takes a number'],
    [['--expires', '1d'], '--expires needs --bypass REASON'],
    [[], 'Name at least one limit to set.'],
  ])('wrong options are refused: %j', async (options, message) => {
    const { code, stderr } = await commands().run('limits', 'set', ...options)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })

  it('a running server follows a change', async () => {
    const { folder, env, run } = commands()
    const server = await startServer(['serve'], folder, env)
    onTestFinished(async () => {
      await server.stop()
    })
    const limit = async () => {
      const response = await fetch(`${server.url}/v1/tasks?principal_id=alice`)
      return response.headers.get('x-ratelimit-limit')
    }
    expect(await limit()).toBe('60000')
    expect(await run('limits', 'set', '--principal-calls', '50/1m')).toMatchObject({ code: 0 })
    await vi.waitFor(async () => expect(await limit()).toBe('50'), { timeout: 5000, interval: 100 })
  })
})
