import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { findCommand } from '../../src/cli/commands.ts'
import { admin, describeGates } from '../support/gates.ts'
import { actionsOf, KEY, LOCKED, servePages, wordsOf } from './support.ts'

const HOSTILE = `h"><script>alert(1)</script>\u202E`

describeGates(
  'records in the console',
  (open) => {
    it('an admin who may only read sees the records and no forms', async () => {
      const { gate } = await open()
      const by = (id: string) => ({ kind: 'human', id })
      const { key } = await gate.createKey(admin(), {
        ...{ principal: by('rita'), role: 'admin', scopes: ['admin:read'], name: HOSTILE },
      })
      await gate.putIdentity(admin(), { email: 'ann@example.com', principal: by(HOSTILE), role: 'viewer' })
      const uris = ['https://app.example/callback']
      await gate.createOauthClient(admin(), {
        client_name: HOSTILE,
        redirect_uris: uris,
        scopes: ['tasks:read'],
      })
      const { visitor } = await servePages(gate, LOCKED)
      const [rita, maria] = [visitor(), visitor()]
      await rita.signIn(key)
      await maria.signIn(KEY)
      for (const [path, words] of [
        ['/keys', 'human: rita'],
        ['/clients', 'app.example'],
        ['/identities', 'ann@example.com'],
        ['/audit', 'admin action'],
        ['/limits', 'max_active_tasks'],
        ['/retention', 'Archive'],
        ['/usage', 'Lease hours'],
      ] as const) {
        const page = await rita.get(path)
        expect(page.status, path).toBe(200)
        expect(wordsOf(page.text), path).toContain(words)
        expect(actionsOf(page.text), path).toEqual([])
        expect(page.text, path).not.toContain('<script>')
        expect(page.text, path).not.toContain('\u202E')
        const isRead = path === '/audit' || path === '/usage'
        expect(actionsOf((await maria.get(path)).text).length > 0, path).toBe(!isRead)
      }
    })

    it('the pages without records say how to create one', async () => {
      const { gate } = await open()
      const visitor = (await servePages(gate)).visitor()
      for (const path of ['/keys', '/clients', '/identities', '/upstreams', '/sessions', '/policies']) {
        expect((await visitor.get(path)).text, path).toContain('data-copy="npx asyncgate ')
      }
    })
  },
  ['sqlite'],
)

it('the commands that pages show exist, with their options', async () => {
  const folder = new URL('../../src/console/pages/', import.meta.url)
  const sources = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'))
  const shown = sources.flatMap((source) => source.match(/npx asyncgate [^\n`"]+/g) ?? [])
  expect(shown.length).toBeGreaterThan(8)
  for (const text of shown) {
    const words = text
      .replace(/'[,)].*/, '')
      .split(' ')
      .slice(2)
    const found = await findCommand(words)
    if (found === undefined) throw new Error(`there is no command for: ${text}`)
    const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
    for (const word of own.filter((each) => each.startsWith('--'))) {
      expect(Object.keys(found.command.options), text).toContain(word.slice(2))
    }
  }
})
