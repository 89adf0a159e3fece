import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json/json.ts'
import { checkTemplate, render } from '../../../src/scheduler/plan/template.ts'
import { plainJson } from '../../core/arbitraries.ts'

const RUN = { schedule_id: 's1', run_at: Date.UTC(2026, 0, 1), now: Date.UTC(2026, 0, 1, 0, 0, 1) }
const rendered = (template: Json) => render(template, RUN)

describe('a template', () => {
  it('has placeholders anywhere in its texts', () => {
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

  it('keeps the type of a placeholder that stands alone', () => {
    expect(rendered(['{{run_at_ms}}', ' {{run_at_ms}}', '{{ now_ms }}'])).toEqual([
      1767225600000,
      ' 1767225600000',
      1767225601000,
    ])
  })

  it('leaves names of members, single braces and what is escaped', () => {
    expect(rendered({ '{{now}}': '{now} \\{{now}} {{', plain: '}} {x}' })).toEqual({
      '{{now}}': '{now} {{now}} {{',
      plain: '}} {x}',
    })
  })

  it('without placeholders is what it was', () => {
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
  ])('with an unknown name is refused: %j', (template) => {
    expect(() => checkTemplate(template, 'payload')).toThrow(Fault)
    expect(() => checkTemplate(template, 'payload')).toThrow(/is not one of schedule_id, run_at/)
  })

  it('that is escaped or not closed is fine', () => {
    expect(() => checkTemplate(['\\{{user}}', '{{now', 'now}}'], 'payload')).not.toThrow()
  })
})
