/**
 * Runs the examples, one after the other. Each is a folder of examples/ with a self-contained main.ts or main.js that
 * exits with 0.
 *
 *   npm run examples          all examples
 *   npm run examples -- 01    examples whose name begins with one of these texts
 */
import { exampleNames, runExample } from './examples/run.ts'

const wanted = process.argv.slice(2)
const names = exampleNames().filter(
  (name) => wanted.length === 0 || wanted.some((word) => name.startsWith(word)),
)
if (names.length === 0) {
  console.error(`No example begins with ${wanted.join(' or ')}. There are: ${exampleNames().join(', ')}.`)
  process.exitCode = 1
}
for (const name of names) {
  console.log(`--- ${name}`)
  const { ok, ms, reason } = await runExample(name, (text) => process.stdout.write(text))
  console.log(`--- ${name}: ${ok ? 'ok' : `failed, ${reason}`} (${(ms / 1000).toFixed(1)} s)\n`)
  if (!ok) process.exitCode = 1
}
