import { fileURLToPath } from 'node:url'
import { startChild } from '../child.ts'
import type { Database, Databases, StoreName } from '../engine/databases.ts'
import { type Arm, inTurns, type Turns } from '../paired.ts'
import { type Report, spread } from '../report.ts'
import { median } from '../stats.ts'

const CHILD = fileURLToPath(new URL('./engine-child.ts', import.meta.url))
const CALLERS = 256

/** What the log costs the engine: two processes in turns, one of which makes a checkpoint every second. */
export async function compareThroughput(
  report: Report,
  databases: Databases,
  store: StoreName,
  turns: Turns,
): Promise<void> {
  const [first, second] = [await databases.create(store), await databases.create(store)]
  const logged = await startArm(first, 'logged')
  const plain = await startArm(second, 'plain')
  try {
    const { rates, costs } = await inTurns(logged, plain, turns)
    report.add({
      name: `${store}: lifecycles, a checkpoint every second against none`,
      value: median(rates),
      unit: 'x',
      note: spread(rates),
      target: { atLeast: 0.95 },
    })
    report.add({
      name: `${store}: processor time per lifecycle, a checkpoint every second against none`,
      value: median(costs),
      unit: 'x',
      note: spread(costs),
    })
  } finally {
    await logged.stop()
    await plain.stop()
    for (const database of [first, second]) await database.drop()
  }
}

async function startArm({ name, address }: Database, mode: 'logged' | 'plain'): Promise<Arm> {
  const child = await startChild(CHILD, [mode, name, address], process.cwd())
  return {
    pid: child.pid,
    measure: (seconds) => child.ask({ count: CALLERS, seconds }),
    stop: child.stop,
  }
}
