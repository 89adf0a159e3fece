import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { anchorsOf, linksOf } from './markdown.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((path) => join('docs', path))].filter((path) =>
  path.endsWith('.md'),
)

it.each(pages)('every local link of %s resolves', (page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const broken = linksOf(text).filter((link) => {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? join(root, page) : join(root, dirname(page), path)
    if (!existsSync(target)) return true
    return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor)
  })
  expect(broken).toEqual([])
})
