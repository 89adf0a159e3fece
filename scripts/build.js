import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

// The new build replaces the previous one only when it is complete, so that an error leaves a working build.
const fresh = mkdtempSync('.dist-')
try {
  const tsc = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', fresh],
    { stdio: 'inherit' },
  )
  if (tsc.error) console.error(tsc.error.message)
  if (tsc.status === 0) {
    cpSync('src/store', `${fresh}/store`, {
      recursive: true,
      filter: (path) => statSync(path).isDirectory() || /[/\\]migrations[/\\][^/\\]+\.sql$/.test(path),
    })
    // The worker thread is plain JavaScript and needs no compilation.
    cpSync('src/features/task-types/schema-worker.js', `${fresh}/features/task-types/schema-worker.js`)
    cpSync('src/console/assets', `${fresh}/console/assets`, { recursive: true })
    for (const path of [fresh, `${fresh}/cli/main.js`]) chmodSync(path, 0o755)
    rmSync('dist', { recursive: true, force: true })
    renameSync(fresh, 'dist')
  } else process.exitCode = tsc.status ?? 1
} finally {
  rmSync(fresh, { recursive: true, force: true })
}
