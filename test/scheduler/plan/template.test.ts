import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json/json.ts'
import { checkTemplate, render } from '../../../src/scheduler/plan/template.ts'
import { plainJson } from '../../core/arbitraries.ts'

const RUN = { schedule_id: 's1', run_at: Date.UTC(2026, 0, 1), now: Date.UTC(2026, 0, 1, 0, 0, 1) }
const rendered = (template: Json) => render(template, RUN)

describe('payload templates', () => {
  it('placeholders are replaced anywhere in texts', () => {
    expect(
      rendered({
        day: 'the run of {{run_at}}, {{ schedule_id }}',
        list: [{ at: '{{now}}' }, '{{now}}{{now_ms}}'],
        n: 7,
        none: null,
      }),
    ).toEqual({
      day: 'the run of 2026-01-01T00:00:00.000Z, s1',
      list: [{ at: '2026-01-01T00:00:01.000Z' }, '2026-01-01T00:00:01.000Z1767225601000'],
      n: 7,
      none: null,
    })
  })

  it('a placeholder that is the whole text keeps its type', () => {
    expect(rendered(['{{run_at_ms}}', ' {{run_at_ms}}', '{{ now_ms }}'])).toEqual([
      1767225600000,
      ' 1767225600000',
      1767225601000,
    ])
  })

  it('property names, single braces and escaped placeholders are unchanged', () => {
    expect(rendered({ '{{now}}': '{now} \\{{now}} {{', plain: '}} {x}' })).toEqual({
      '{{now}}': '{now} {{now}} {{',
      plain: '}} {x}',
    })
  })

  it('a template without placeholders is unchanged', () => {
    fc.assert(
      fc.property(plainJson, (value) => {
        fc.pre(!JSON.stringify(value).includes('{{'))
        expect(rendered(value)).toEqual(value)
        expect(() => checkTemplate(value, 'x')).not.toThrow()
      }),
    )
  })

  it.each<Json>([
    '{{nowhere}}',
    { a: [{ b: 'x {{Now}}' }] },
    '{{}}',
    '{{constructor}}',
    '{{now }} {{ later }}',
  ])('an unknown placeholder is refused: %j', (template) => {
    expect(() => checkTemplate(template, 'payload')).toThrow(Fault)
    expect(() => checkTemplate(template, 'payload')).toThrow(/is not one of schedule_id, run_at/)
  })

  it('escaped and unclosed placeholders are accepted', () => {
    expect(() => checkTemplate(['\\{{user}}', '{{now', 'now}}'], 'payload')).not.toThrow()
  })
})
