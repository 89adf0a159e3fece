import { describe, expect, it } from 'vitest'
import {
  changesBetween,
  changesSince,
  parseVersions,
  regionsOf,
  versionsOf,
} from '../../src/console/live/regions.ts'

const row = (key: string, text: string) => `<li class="row" data-row="${key}">${text}</li>`
const list = (...rows: string[]) =>
  `<h1>T</h1><div data-live="list"><div><ul>${rows.join('')}</ul></div></div>`
const shown = (page: string) => new Map(regionsOf(page).map((region) => [region.name, region]))

describe('live regions', () => {
  it('only the rows that have changed are sent, with the new order', () => {
    const before = shown(list(row('a', '1'), row('b', '2')))
    const after = regionsOf(list(row('c', '3'), row('a', '1'), row('b', '4')))
    expect(changesBetween(before, after)).toEqual([
      expect.objectContaining({
        name: 'list',
        keys: ['c', 'a', 'b'],
        rows: { c: row('c', '3'), b: row('b', '4') },
      }),
    ])
  })

  it('a region is sent as a whole if something besides its rows has changed', () => {
    const before = shown('<p data-live="n">1</p>')
    expect(changesBetween(before, regionsOf('<p data-live="n">2</p>'))).toMatchObject([
      { name: 'n', html: '<p data-live="n">2</p>' },
    ])
  })

  it('relative times and shown notices are no change', () => {
    const one =
      '<p data-live="n"><time datetime="x">1 s ago</time><div class="notice good" role="status">Saved.</div></p>'
    const other = '<p data-live="n"><time datetime="x">9 s ago</time></p>'
    expect(changesBetween(shown(one), regionsOf(other))).toEqual([])
  })

  it('a page that connects again receives only the regions that differ', () => {
    const page = '<p data-live="a">1</p><p data-live="b">2</p>'
    const known = parseVersions(versionsOf(regionsOf(page)))
    expect(changesSince(known, regionsOf(page))).toEqual([])
    expect(changesSince(known, regionsOf(page.replace('2', '3')))).toMatchObject([{ name: 'b' }])
  })

  it('versions that a client invents cause a full update at most', () => {
    for (const text of ['', '~~', 'a', 'a.b.c~', '.'.repeat(9000)]) {
      expect(changesSince(parseVersions(text), regionsOf('<p data-live="a">1</p>'))).toHaveLength(1)
    }
  })
})
