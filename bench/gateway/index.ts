import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Databases } from '../engine/databases.ts'
import { Connection } from '../http/connection.ts'
import { lifecyclesOverHttp } from '../http/load.ts'
import { callTool, rest } from '../http/protocols.ts'
import { type ServerProcess, startGate } from '../http/servers.ts'
import { processorSeconds } from '../processor.ts'
import { type Report, spread } from '../report.ts'
import { median, times } from '../stats.ts'
import { callsPerSecond, offered, TOOL, UPSTREAM, upstreamSettings } from './load.ts'

const ROUNDS = 3
const CALLS = 500
const CONNECTIONS = 64
const SECONDS = 5

/**
 * A tool of a stdio upstream, called directly and through the gate on SQLite: durable, with policy and receipts.
 */
export async function gateway(report: Report): Promise<void> {
  const databases = await Databases.start()
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-bench-'))
  try {
    const settings = upstreamSettings(folder, CONNECTIONS)
    await compareLatency(report, databases, settings)
    await compareThroughput(report, databases, settings)
  } finally {
    rmSync(folder, { recursive: true })
    await databases.remove()
  }
}

async function compareLatency(
  report: Report,
  databases: Databases,
  settings: Record<string, string>,
): Promise<void> {
  const direct: number[] = []
  const through: number[] = []
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [UPSTREAM] }))
  await withGate(databases, settings, async ({ port }) => {
    const connection = await Connection.open(port)
    for (let round = 0; round < ROUNDS; round++) {
      const straight = () => client.callTool({ name: 'echo', arguments: { n: round } })
      const gated = () => callTool(connection, TOOL, { n: round })
      await times(CALLS / 5, straight)
      direct.push(median(await times(CALLS, straight)))
      await times(CALLS / 5, gated)
      through.push(median(await times(CALLS, gated)))
    }
    connection.close()
  })
  await client.close()
  report.add({ name: 'tool called directly, p50', value: median(direct), unit: 'ms', note: spread(direct) })
  report.add({ name: 'through the gate, p50', value: median(through), unit: 'ms', note: spread(through) })
  report.add({
    name: 'added by the gate, p50',
    value: median(through) - median(direct),
    unit: 'ms',
    target: { atMost: 5 },
  })
}

/** Calls per second of the server's processor time, which excludes the time of the upstream and of this process. */
async function compareThroughput(
  report: Report,
  databases: Databases,
  settings: Record<string, string>,
): Promise<void> {
  const lifecycles: number[] = []
  const calls: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    lifecycles.push(
      await withGate(databases, {}, (server) =>
        perCore(server, (seconds) => lifecyclesOverHttp(rest, server.port, CONNECTIONS, 1, seconds)),
      ),
    )
    calls.push(
      await withGate(databases, settings, (server) =>
        perCore(server, (seconds) => callsPerSecond(server.port, CONNECTIONS, seconds)),
      ),
    )
  }
  const row = (name: string, unit: string, rates: number[]) =>
    report.add({ name, value: median(rates), unit, note: spread(rates) })
  row('REST lifecycles per core', 'lifecycles/s', lifecycles)
  row('calls through the gate per core', 'calls/s', calls)
  report.add({
    name: 'calls against REST lifecycles, per core',
    value: median(calls) / median(lifecycles),
    unit: 'x',
    target: { atLeast: 0.5 },
  })
}

async function perCore(
  server: ServerProcess,
  measure: (seconds: number) => Promise<number>,
): Promise<number> {
  await measure(1)
  const [before, startedAt] = [processorSeconds(server.pid), performance.now()]
  const rate = await measure(SECONDS)
  const seconds = (performance.now() - startedAt) / 1000
  return (rate * seconds) / (processorSeconds(server.pid) - before)
}

async function withGate<T>(
  databases: Databases,
  settings: Record<string, string>,
  run: (server: ServerProcess) => Promise<T>,
): Promise<T> {
  const database = await databases.create('sqlite')
  const server = await startGate(`sqlite:${database.address}`, settings)
  try {
    if ('ASYNCGATE_UPSTREAMS_FILE' in settings) await offered(server)
    return await run(server)
  } finally {
    await server.stop()
    await database.drop()
  }
}
