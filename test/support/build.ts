import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

const root = new URL('../../', import.meta.url)

/** Programs that tests start often. Compiling them once is faster than loading every source file in each process. */
const PROGRAMS = [
  ...readdirSync(new URL('test/proofs/children/', root))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `test/proofs/children/${file}`),
  'test/gateway/upstreams/fixture-stdio.ts',
]

/** The compiled form of one of the programs. */
export function compiledProgram(name: string): string {
  return fileURLToPath(new URL(`.cache/tests/${name}.mjs`, root))
}

/** Tests start the built program, so `dist` is built first if a source file is newer. */
export default async function setup(): Promise<void> {
  buildIfStale()
  await build({
    absWorkingDir: fileURLToPath(root),
    entryPoints: PROGRAMS.map((path) => ({ in: path, out: basename(path, '.ts') })),
    outdir: '.cache/tests',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    plugins: [usingBuild],
  })
}

/** The programs use the built modules, which find their files next to them. */
const usingBuild: Plugin = {
  name: 'built-modules',
  setup({ onResolve }) {
    onResolve({ filter: /\/src\/.*\.ts$/ }, ({ path, resolveDir }) => {
      const source = new URL(path, `file://${resolveDir}/`).href
      const built = source.replace(/^.*\/src\//, new URL('dist/', root).href).replace(/\.ts$/, '.js')
      return { path: built, external: true }
    })
  },
}

function buildIfStale(): void {
  const built = statSync(new URL('dist/cli/main.js', root), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  const isStale = sources.some((file) => statSync(new URL(`src/${file}`, root)).mtimeMs > built)
  if (!isStale) return
  const script = fileURLToPath(new URL('scripts/build.js', root))
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' })
  if (status !== 0) throw new Error('The build failed, so the tests cannot start the program.')
}
