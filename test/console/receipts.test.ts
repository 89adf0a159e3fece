import { expect, it } from 'vitest'
import { agent, describeGates } from '../support/gates.ts'
import { ask, finish, hold, receiptsOf } from '../support/steps.ts'
import { servePages, wordsOf } from './support.ts'

describeGates('receipts in the console', (open) => {
  it('open obligations are listed by principal, and disappear when they are closed', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await ask(gate, {}, agent('bob'))
    const visitor = (await servePages(gate)).visitor()
    const words = async () => wordsOf((await visitor.get('/receipts/obligations?to=agent:alice')).text)
    expect(await words()).toContain('agent:alice')
    expect(await words()).toContain('agent:bob')
    expect(await words()).toContain(offer.task_id.slice(0, 8))
    await finish(gate, offer)
    expect(await words()).toContain('Every obligation is closed.')
  })

  it('receipts are filtered by type, task and addressee', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    await ask(gate, {}, agent('bob'))
    const visitor = (await servePages(gate)).visitor()
    const types = async (query: string) => {
      const { text } = await visitor.get(`/receipts${query}`)
      const list = text.slice(text.indexOf('data-live="list"'))
      return Array.from(list.matchAll(/class="mono" href="[^"]+">([^<]+)</g), ([, type]) => type)
    }
    expect(await types('?type=task.completed')).toEqual(['task.completed'])
    expect(await types('?to=bob')).toEqual(['task.assigned'])
    const all = (await receiptsOf(gate, offer)).map(({ receipt_type }) => receipt_type)
    expect(await types(`?task_id=${offer.task_id}`)).toEqual(all.toReversed())
  })

  it('the chain of a task is drawn with a line from its obligation to its end', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    const visitor = (await servePages(gate)).visitor()
    const { text } = await visitor.get(`/receipts?task_id=${offer.task_id}`)
    const [graph = ''] = /<svg class="graph".*?<\/svg>/s.exec(text) ?? []
    const receipts = await receiptsOf(gate, offer)
    for (const { receipt_id } of receipts) expect(graph).toContain(`/console/receipts/${receipt_id}`)
    const edges = receipts.flatMap(({ parents }) => parents)
    expect(graph.match(/<path d=/g)).toHaveLength(edges.length)
  })

  it('a receipt is shown with its parents, what followed, and its proof to download', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    const [assigned] = await receiptsOf(gate, offer)
    const path = `/receipts/${assigned?.receipt_id}`
    const visitor = (await servePages(gate)).visitor()
    const words = wordsOf((await visitor.get(path)).text)
    for (const part of ['closed', 'Followed by', 'task.completed', 'Download the proof']) {
      expect(words).toContain(part)
    }
    const proof = await visitor.get(`${path}/proof`)
    expect(proof.headers['content-disposition']).toMatch(/^attachment; filename="receipt-[\w-]+\.json"$/)
    expect(JSON.parse(proof.text)).toMatchObject({ receipt_id: assigned?.receipt_id })
  })
})
