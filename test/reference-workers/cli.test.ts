import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Child, cli, startCli, testFolder } from '../cli/support.ts'
import { site } from '../egress/site.ts'
import { KEY, openTestGate, outcomeOf, reaches, type TestGate } from './support.ts'

let gate: TestGate
beforeAll(async () => {
  gate = await openTestGate()
})
afterAll(() => gate.close())

/** Starts `asyncgate worker` as a process and waits until it is ready. */
async function startWorker(
  args: readonly string[] = [],
  folder = testFolder(),
): Promise<Child & { said: string }> {
  const env = { ASYNCGATE_URL: gate.url, ASYNCGATE_API_KEY: KEY }
  const child = startCli(['worker', ...args], folder, env)
  onTestFinished(async () => {
    child.process.kill('SIGKILL')
    await child.ended
  })
  if (child.process.stdout === null) throw new Error('it has no output')
  const lines = createInterface({ input: child.process.stdout })
  const [said] = await Promise.race([
    once(lines, 'line'),
    child.ended.then(({ code, stderr }) => Promise.reject(new Error(`It ended with ${code}: ${stderr}`))),
  ])
  return { ...child, said }
}

async function printed(stream: Readable | null, text: string): Promise<void> {
  for (let said = ''; !said.includes(text); )
    said += await new Promise<string>((resolve) => stream?.once('data', resolve))
}

describe('asyncgate worker', () => {
  it('worker runs the reference tasks, and finishes running ones when it is stopped', async () => {
    const { said, process: child, ended } = await startWorker(['--worker-id', 'w1'])
    expect(said).toBe(`Worker w1 runs echo, sleep_then_return, http_get for ${gate.url}`)
    expect(await outcomeOf(gate, 'echo', { hello: 'world' })).toMatchObject({
      status: 'succeeded',
      result: { echo: { hello: 'world' } },
    })
    expect(await outcomeOf(gate, 'http_get', { url: 'https://127.0.0.1/' })).toMatchObject({
      error: { code: 'REFUSED' },
    })
    const { id } = await gate.agent.submit('sleep_then_return', { seconds: 1, value: 'slept' })
    await reaches(gate, id, 'leased')
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining('The worker has stopped.') })
    expect(await gate.agent.getTask({ task_id: id })).toMatchObject({
      status: 'succeeded',
      result: { result: { value: 'slept' } },
    })
  })

  it('worker releases its tasks on a second signal', async () => {
    const { process: child, ended } = await startWorker()
    const { id } = await gate.agent.submit('sleep_then_return', { seconds: 600 })
    await reaches(gate, id, 'leased')
    const stopping = printed(child.stderr, 'the worker is stopping')
    child.kill('SIGTERM')
    await stopping
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0 })
    expect(await gate.agent.getTask({ task_id: id })).toMatchObject({ status: 'queued', attempt: 0 })
    await gate.agent.cancelTask({ task_id: id })
  })

  it('--tasks and --capabilities select the tasks', async () => {
    const { said } = await startWorker([
      '--tasks',
      'echo',
      '--capabilities',
      'gpu',
      '--worker-id',
      'w2',
      '--json',
    ])
    expect(JSON.parse(said)).toEqual({ event: 'working', worker_id: 'w2', tasks: ['echo'], url: gate.url })
    const sleeping = await gate.agent.submit('sleep_then_return', { seconds: 0 })
    const requirements = { capabilities: ['gpu', 'echo'] }
    expect(await outcomeOf(gate, 'echo', 1, { requirements })).toMatchObject({ status: 'succeeded' })
    expect(await gate.agent.getTask({ task_id: sleeping.id })).toMatchObject({ status: 'queued' })
    await gate.agent.cancelTask({ task_id: sleeping.id })
  })

  it('allowed commands come from --allow and from the config file', async () => {
    const folder = testFolder()
    writeFileSync(
      join(folder, 'asyncgate.config.yaml'),
      `commands:\n  count: ["${process.execPath}", "-p", "process.argv.length - 1", "--", ...]\ncommand_folder: here\n`,
    )
    const { said } = await startWorker(['--allow', `version=${process.execPath} --version`], folder)
    expect(said).toContain('runs echo, sleep_then_return, http_get, command.execute for')
    expect(await outcomeOf(gate, 'command.execute', { command: 'version' })).toMatchObject({
      result: { stdout: `${process.version}\n`, exit_code: 0 },
    })
    const counted = { command: 'count', args: ['a b', 'c'], output_path: 'count.txt' }
    expect(await outcomeOf(gate, 'command.execute', counted)).toMatchObject({
      result: { output: { path: 'count.txt', bytes: 2 } },
    })
  })

  it('http_get respects the egress settings of the operator', async () => {
    const { url } = await site((_, response) => response.end('intranet'))
    await startWorker(['--allow-http', '--allow-private', '127.0.0.1'])
    const port = new URL(url).port
    // The port is not a default port.
    expect(await outcomeOf(gate, 'http_get', { url })).toMatchObject({ error: { code: 'REFUSED' } })
    const folder = testFolder()
    writeFileSync(
      join(folder, 'asyncgate.config.yaml'),
      `egress_allow_http: true\negress_private: [127.0.0.0/8]\negress_ports: [80, ${port}]\n`,
    )
    // A second worker with permission; the first one fails tasks permanently, so a capability separates them.
    await startWorker(['--capabilities', 'intranet'], folder)
    const requirements = { capabilities: ['intranet'] }
    expect(await outcomeOf(gate, 'http_get', { url }, { requirements })).toMatchObject({
      result: { body: 'intranet' },
    })
  })

  it.each([
    [['--tasks', 'ecko'], 'This worker has no task type "ecko".\nDid you mean echo?'],
    [['--tasks', 'knit'], 'It has echo, sleep_then_return, http_get, command.execute.'],
    [['--tasks', ','], '--tasks is empty.'],
    [['--tasks', 'command.execute'], 'command.execute needs allowed commands.'],
    [['--allow', 'count'], '--allow takes KEY=VALUE'],
    [['--allow', 'count=wc'], 'needs the absolute path of a program, not "wc"'],
    [['--allow', 'count=/no/such/program'], 'The command count cannot be run'],
    [['--concurrency', '0'], 'concurrency'],
    [['--concurrency', 'many'], '--concurrency takes an integer'],
    [['--url', 'nowhere'], 'nowhere'],
    [['extra'], 'Unexpected argument "extra"'],
  ])('the arguments %j are refused', async (args, said) => {
    const { code, stderr } = await cli(['worker', ...args], { ASYNCGATE_URL: gate.url })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(said) })
    expect(stderr).not.toContain('    at ')
  })

  it('an invalid setting is reported', async () => {
    const { code, stderr } = await cli(['worker', '--allow-private', '10.0.0.0/99'], {
      ASYNCGATE_URL: gate.url,
    })
    expect(code).toBe(1)
    expect(stderr).toContain('"10.0.0.0/99" is not an address or a network')
    expect(stderr).not.toContain('    at ')
  })

  it('worker exits when the server refuses its key', async () => {
    const env = { ASYNCGATE_URL: gate.url, ASYNCGATE_LOG_LEVEL: 'silent' }
    const refused = await cli(['worker', '--tasks', 'echo', '--key', 'wrong'], env)
    expect(refused).toMatchObject({ code: 4 })
    expect(refused.stderr).toContain('UNAUTHENTICATED')
    expect(refused.stderr).toContain('Give the key with --key, or set ASYNCGATE_API_KEY.')
  })
})
