import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { commandsOf } from '../../src/cli/commands.ts'
import { RECEIPT_TYPES } from '../../src/core/receipt.ts'
import { folder, type Server, startServer } from '../cli/support.ts'

const read = (path: string) => readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8')

const alerts = z
  .object({
    groups: z.array(
      z.object({
        name: z.string(),
        rules: z.array(
          z.strictObject({
            alert: z.string(),
            expr: z.string(),
            for: z.string().optional(),
            labels: z.object({ severity: z.enum(['critical', 'warning', 'info']) }),
            annotations: z.object({ summary: z.string(), description: z.string() }),
          }),
        ),
      }),
    ),
  })
  .parse(parse(read('prometheus/alerts.yaml')))
  .groups.flatMap(({ rules }) => rules)

const panels = z
  .object({
    panels: z.array(
      z.looseObject({
        title: z.string(),
        targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).default([]),
      }),
    ),
  })
  .parse(JSON.parse(read('grafana/asyncgate.json'))).panels

const expressions = [
  ...alerts.map(({ alert, expr }) => ({ name: `the alert ${alert}`, expr, legend: '' })),
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({ name: `the panel ${title}`, expr, legend: legendFormat })),
  ),
]

/** Labels that Prometheus adds. */
const ADDED = ['instance', 'job', 'le']

describe('the alert rules and the dashboard', () => {
  let server: Server
  const labels = new Map<string, ReadonlySet<string>>()

  beforeAll(async () => {
    server = await startServer(['dev', '--no-demo'], folder())
    const post = async (path: string, body: object) => {
      const response = await fetch(`${server.url}/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return z.looseObject({}).parse(await response.json())
    }
    // A metric has its labels in the output once it has a value.
    for (const path of ['complete', 'fail']) {
      await post('tasks', { type: 'echo', principal_id: 'alice', payload: {}, max_attempts: 1 })
      const claimed = await post('leases/claim', { worker_id: 'w', accept_types: ['echo'] })
      const [task] = z.array(z.object({ task_id: z.string(), lease_id: z.string() })).parse(claimed.tasks)
      const ending = path === 'complete' ? { result: {} } : { error: { message: 'no' }, retryable: false }
      await post(`tasks/${task?.task_id}/${path}`, { worker_id: 'w', lease_id: task?.lease_id, ...ending })
    }
    const text = await (await fetch(`${server.url}/metrics`)).text()
    for (const [, name] of text.matchAll(/^# TYPE (\w+) /gm))
      if (name !== undefined) labels.set(name, new Set())
    for (const [, name = '', list = ''] of text.matchAll(/^(asyncgate_\w+)(?:\{([^}]*)\})? /gm)) {
      const found = [...list.matchAll(/(\w+)="/g)].map(([, label]) => label ?? '')
      labels.set(baseName(name), new Set([...(labels.get(baseName(name)) ?? []), ...found]))
    }
  })

  afterAll(async () => {
    await server.stop()
  })

  /** The name of the histogram of a series. */
  function baseName(series: string): string {
    const base = series.replace(/_(bucket|sum|count)$/, '')
    return labels.has(series) || !labels.has(base) ? series : base
  }

  it.each(expressions)('$name uses metrics and labels that a server has', ({ expr, legend }) => {
    for (const [, series = '', list = ''] of expr.matchAll(/(asyncgate_\w+)(?:\{([^}]*)\})?/g)) {
      expect([...labels.keys()]).toContain(baseName(series))
      const known = labels.get(baseName(series))
      // Metrics without values, such as refused connections, show no labels.
      if (known === undefined || known.size === 0) continue
      const named = [...list.matchAll(/(\w+)=~?"/g)].map(([, label]) => label ?? '')
      const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, by = '']) => by.split(', '))
      const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? '')
      for (const label of [...named, ...grouped, ...shown]) expect([...known, ...ADDED]).toContain(label)
    }
    for (const [, type] of expr.matchAll(/receipt_type="([^"]*)"/g)) expect(RECEIPT_TYPES).toContain(type)
  })

  it('names commands that exist', async () => {
    const named = alerts.flatMap(({ annotations }) => [
      ...annotations.description.matchAll(/asyncgate (\w+)/g),
    ])
    expect(named).not.toEqual([])
    for (const [, noun = ''] of named) expect(await commandsOf(noun), noun).not.toEqual([])
  })
})
