import { pathToFileURL } from 'node:url'
import type * as sdk from '../../dist/worker/index.js'
import { newResult } from '../engine/lifecycle.ts'

/** A worker of the version in the given folder. Replies to a message when it has completed as many tasks as that asks for. */
const [folder, port, concurrency] = process.argv.slice(2)
const { task, worker }: typeof sdk = await import(pathToFileURL(`${folder}/dist/worker/index.js`).href)
const working = worker({
  url: `http://127.0.0.1:${port}`,
  tasks: [task('summarise', { run: newResult })],
  concurrency: Number(concurrency),
  logger: false,
  signals: false,
})
const running = working.run()
let expected = 0

process.on('message', async ({ count }: { count: number }) => {
  expected += count
  while ((working.metrics().types.summarise?.completed ?? 0) < expected) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  process.send?.(count)
})
process.on('disconnect', async () => {
  await working.kill()
  await running
  process.exit(0)
})
process.send?.('ready')
