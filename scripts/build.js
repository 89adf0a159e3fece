import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, rmSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
rmSync('dist', { recursive: true, force: true })

const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
})
if (tsc.error) console.error(tsc.error.message)
if (tsc.status !== 0) process.exit(tsc.status ?? 1)

cpSync('src/store', 'dist/store', {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || /[/\\]migrations[/\\][^/\\]+\.sql$/.test(path),
})
if (existsSync('dist/cli/main.js')) chmodSync('dist/cli/main.js', 0o755)
