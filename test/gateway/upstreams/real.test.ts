import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fault, folder, installed, open, textOf, until } from './support.ts'

describe('third-party servers from the registry', () => {
  it('several upstreams run at the same time, each with its own tool names', async () => {
    const root = folder()
    const { upstreams } = await open([
      installed('server-filesystem', [root]),
      installed('server-everything'),
      installed('server-memory', [], { MEMORY_FILE_PATH: join(root, 'memory.jsonl') }),
    ])
    const names = upstreams.list().map(({ name, health }) => [name, health.state])
    expect(names).toEqual([
      ['everything', 'ready'],
      ['filesystem', 'ready'],
      ['memory', 'ready'],
    ])
    const has = ['filesystem__read_text_file', 'everything__echo', 'memory__create_entities']
    for (const name of has) expect(upstreams.find(name)).toBeDefined()
    expect(textOf(await upstreams.call('everything', 'get-sum', { a: 19, b: 23 }))).toContain('42')
  })

  it('filesystem: it writes and reads in its folder only, and a file of 50 MB is refused', async () => {
    const root = folder()
    const { upstreams } = await open([installed('server-filesystem', [root])])
    const path = join(root, 'note.txt')
    await upstreams.call('filesystem', 'write_file', { path, content: 'durable' })
    expect(readFileSync(path, 'utf8')).toBe('durable')
    const outside = await upstreams.call('filesystem', 'read_text_file', { path: '/etc/hostname' })
    expect(outside).toMatchObject({ isError: true })
    const big = join(root, 'big.txt')
    writeFileSync(big, 'x'.repeat(50_000_000))
    await expect(upstreams.call('filesystem', 'read_text_file', { path: big })).rejects.toMatchObject(
      fault('UPSTREAM_RESULT_TOO_LARGE', { upstream: 'filesystem' }),
    )
    const again = await upstreams.call('filesystem', 'read_text_file', { path })
    expect(textOf(again)).toBe('durable')
    expect(upstreams.get('filesystem')?.health.restarts).toBe(0)
  })

  it('everything: a long operation reports progress and can be canceled', async () => {
    const { upstreams } = await open([installed('server-everything')])
    const stop = new AbortController()
    const seen: number[] = []
    const call = upstreams.call(
      'everything',
      'trigger-long-running-operation',
      { duration: 600, steps: 60_000 },
      { signal: stop.signal, onProgress: ({ progress }) => seen.push(progress) },
    )
    await until(() => seen.length >= 3)
    stop.abort(new Error('stopped'))
    await expect(call).rejects.toThrow('stopped')
    const image = await upstreams.call('everything', 'get-tiny-image', {})
    expect(image).toMatchObject({
      content: expect.arrayContaining([expect.objectContaining({ type: 'image' })]),
    })
    // Tools that can only be called as a protocol task are not offered.
    const research = upstreams
      .get('everything')
      ?.catalogue.find(({ tool }) => tool === 'simulate-research-query')
    expect(research).toMatchObject({ status: 'hidden', reason: 'it can only be called as a task' })
  })

  it('memory: a killed server is restarted and keeps its data', async () => {
    const MEMORY_FILE_PATH = join(folder(), 'memory.jsonl')
    const { upstreams } = await open([installed('server-memory', [], { MEMORY_FILE_PATH })])
    const entity = { name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }
    await upstreams.call('memory', 'create_entities', { entities: [entity] })
    process.kill(pidOf('server-memory'), 'SIGKILL')
    await until(() => upstreams.get('memory')?.health.restarts === 1)
    expect(upstreams.get('memory')?.health.last_error?.message).toContain('the program ended by SIGKILL')
    expect(textOf(await upstreams.call('memory', 'read_graph', {}))).toContain('Ada')
  })
})

/** The process that was started by this process. */
function pidOf(program: string): number {
  const all = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  const line = all.find(
    (each) => Number(each.trim().split(/\s+/)[1]) === process.pid && each.includes(program),
  )
  return Number(line?.trim().split(/\s+/)[0])
}
