import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)

/** Tests start the built program, so `dist` is built first if a source file is newer. */
export default function setup(): void {
  const built = statSync(new URL('dist/cli/main.js', root), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  const isStale = sources.some((file) => statSync(new URL(`src/${file}`, root)).mtimeMs > built)
  if (!isStale) return
  const script = fileURLToPath(new URL('scripts/build.js', root))
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' })
  if (status !== 0) throw new Error('The build failed, so the tests cannot start the program.')
}
