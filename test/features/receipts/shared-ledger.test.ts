import { expect, it } from 'vitest'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { ask, lease } from '../../support/steps.ts'

const ENDPOINT = 'https://receipts.example/mcp'

describeGates(
  'a server with a shared ledger',
  (open) => {
    const ledger = (pending: number, set_aside: number) => ({
      sharedLedger: {
        endpoint: ENDPOINT,
        profile: '1.1',
        lag: async () => ({ pending, set_aside }),
      } as const,
    })

    it('bootstrap tells where receipts go and how many wait', async () => {
      const { gate } = await open(ledger(3, 1))
      expect(await gate.bootstrap(agent(), {})).toMatchObject({
        receipt_routing: { endpoint: ENDPOINT, schema_version: '1.1', auth_ref: 'RECEIPTGATE_AUTH_TOKEN' },
        receipt_ledger_lag: '3 receipts pending, 1 set aside',
      })
      expect((await gate.stats()).outbox).toEqual({ pending: 3, set_aside: 1 })
    })

    it('a ledger that is up to date has no lag', async () => {
      const { gate } = await open(ledger(0, 0))
      expect(await gate.bootstrap(agent(), {})).not.toHaveProperty('receipt_ledger_lag')
    })

    it('other tenants, and servers without a shared ledger, show none of it', async () => {
      const { gate } = await open(ledger(3, 0))
      const { gate: plain } = await open()
      await ask(gate, {}, agent('bob', 'acme'))
      await ask(plain)
      const offers = [await lease(gate, {}, worker('w1', 'acme')), await lease(plain)]
      for (const offer of offers) {
        for (const field of ['receipt_routing', 'artifact_routing', 'constraints', 'tenant_id']) {
          expect(offer).not.toHaveProperty(field)
        }
      }
      expect(await gate.bootstrap(agent('bob', 'acme'), {})).not.toHaveProperty('receipt_routing')
      expect(await gate.getConfig(admin('acme'))).toMatchObject({
        receipt_mode: 'standalone',
        receiptgate_endpoint: null,
      })
      expect((await plain.stats()).outbox).toBe(null)
    })
  },
  ['sqlite'],
)
