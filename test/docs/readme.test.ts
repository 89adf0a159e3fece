import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { startServer, testFolder } from '../cli/support.ts'
import { repositoryText } from '../core/documents.ts'
import { blocksOf } from './markdown.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const page = repositoryText('README.md')

/** The shell commands of a section. */
function commandsOf(section: string): string[] {
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const [body = ''] = text.split('\n## ')
  return blocksOf(body).flatMap(({ language, text }) => (language === 'sh' ? [text] : []))
}

it('the commands of the README finish tasks without an id that is copied by hand', async () => {
  expect(page).not.toMatch(/TASK_ID|LEASE_ID/)
  const [start, first, ...more] = commandsOf('Start')
  expect([start, more]).toEqual(['npm install\nnpm start', []])
  const home = testFolder()
  // Without a command, as "npm start" runs it.
  const server = await startServer([], home)
  onTestFinished(async () => void (await server.stop()))
  const script = [first, ...commandsOf('A task over REST')]
    .join('\n')
    .replaceAll('npx asyncgate', `"${process.execPath}" "${MAIN}"`)
    .replaceAll('http://127.0.0.1:8080', server.url)
  const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: home,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home },
  })
  expect(status, stderr).toBe(0)
  expect(stdout).toMatch(/^status +succeeded\ntook .*\nresult +\{"echo":\{"hello":"world"\}\}$/m)
  expect(stdout).toContain(`${server.url}/console/tasks/`)
  expect(stdout).toContain('"result":{"summary":"All is well."}')
  expect(stdout).toContain('"receipt_type":"task.completed"')
})
