import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { ReceiptGateClient } from './client.ts'

const lineShape = z.object({ canonical: z.looseObject({ receipt_id: z.string() }).nullable() })

export interface Imported {
  /** Receipts that ReceiptGate has now, or had already. */
  readonly accepted: number
  /** Receipts without a counterpart in the shared ledger. */
  readonly skipped: number
  readonly rejected: readonly { readonly receipt_id: string; readonly reason: string }[]
}

export interface ImportOptions {
  /** How long to wait before a receipt is sent again. */
  readonly retryMs: number
  /** Attempts to send one receipt. */
  readonly maxTries: number
}

/** A line of the file is not a receipt of an export. */
export class ImportError extends Error {}

/** Sends the receipts of an export to ReceiptGate, one after the other. It can be repeated: known receipts are recognized. */
export async function importReceipts(
  lines: AsyncIterable<string>,
  client: Pick<ReceiptGateClient, 'submit'>,
  options: ImportOptions,
): Promise<Imported> {
  let [accepted, skipped, number] = [0, 0, 0]
  const rejected: { receipt_id: string; reason: string }[] = []
  for await (const line of lines) {
    number += 1
    if (line.trim() === '') continue
    const { canonical } = parsed(line, number)
    if (canonical === null) {
      skipped += 1
      continue
    }
    const { receipt_id } = canonical
    const reason = await send(client, receipt_id, JSON.stringify(canonical), options)
    if (reason === undefined) accepted += 1
    else rejected.push({ receipt_id, reason })
  }
  return { accepted, skipped, rejected }
}

function parsed(line: string, number: number): z.output<typeof lineShape> {
  try {
    return lineShape.parse(JSON.parse(line))
  } catch {
    throw new ImportError(`Line ${number} is not a line of "asyncgate ledger export".`)
  }
}

/** Undefined if the receipt was accepted. Rejects if ReceiptGate does not accept any. */
async function send(
  client: Pick<ReceiptGateClient, 'submit'>,
  id: string,
  text: string,
  { retryMs, maxTries }: ImportOptions,
): Promise<string | undefined> {
  for (let tries = 1; ; ) {
    const delivery = await client.submit(id, text)
    switch (delivery.kind) {
      case 'accepted':
        return undefined
      case 'rejected':
        return delivery.reason
      case 'too_large':
        return 'the receipt is too large'
      case 'misconfigured':
        throw new Error(`ReceiptGate refuses requests: ${delivery.reason}`)
      case 'throttled':
        await delay(delivery.retryAfterMs ?? retryMs)
        continue
      case 'failed':
        if (tries >= maxTries) throw new Error(`ReceiptGate does not respond: ${delivery.reason}`)
        tries += 1
        await delay(retryMs)
    }
  }
}
