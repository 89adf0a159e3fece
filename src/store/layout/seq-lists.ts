import type { PrincipalKey } from '../../core/principal.ts'

/**
 * Seqs that belong to a principal, in one row per principal and commit: the list has the distances from the first one.
 */
export interface SeqList {
  readonly tenant: number
  readonly principal: PrincipalKey
  readonly first: number
  readonly seqs: string
}

interface Member {
  readonly tenant: number
  readonly principal: PrincipalKey
  readonly seq: number
}

/** The rows for members in the order of their seqs, each with at most `size` of them. */
export function seqListsOf(members: Iterable<Member>, size: number): SeqList[] {
  const open = new Map<string, { readonly member: Member; readonly seqs: number[] }>()
  const lists: SeqList[] = []
  for (const member of members) {
    const key = `${member.tenant} ${member.principal}`
    const list = open.get(key)
    if (list !== undefined && list.seqs.length < size) list.seqs.push(member.seq)
    else {
      if (list !== undefined) lists.push(closed(list.member, list.seqs))
      open.set(key, { member, seqs: [member.seq] })
    }
  }
  for (const { member, seqs } of open.values()) lists.push(closed(member, seqs))
  return lists
}

function closed({ tenant, principal, seq }: Member, seqs: readonly number[]): SeqList {
  return { tenant, principal, first: seq, seqs: encodeSeqs(seq, seqs) }
}

export function encodeSeqs(first: number, seqs: readonly number[]): string {
  return seqs.map((seq) => seq - first).join(' ')
}

/** Ascending. */
export function decodeSeqs(first: number, text: string): number[] {
  return text.split(' ').map((distance) => first + Number(distance))
}

export type Order = 'ascending' | 'descending'

/** The next seqs beyond `from` of either list, each once. */
export function mergedPage(
  some: readonly number[],
  others: readonly number[],
  from: number,
  order: Order,
  limit: number,
): number[] {
  const beyond = [...new Set([...some, ...others])].filter((seq) =>
    order === 'ascending' ? seq > from : seq < from,
  )
  return beyond.sort((a, b) => (order === 'ascending' ? a - b : b - a)).slice(0, limit)
}

/** The seqs beyond `from` in lists that come in that order, at most `limit`. */
export function pageOf(
  lists: Iterable<Pick<SeqList, 'first' | 'seqs'>>,
  from: number,
  order: Order,
  limit: number,
): number[] {
  const page: number[] = []
  for (const { first, seqs } of lists) {
    const found = decodeSeqs(first, seqs)
    if (order === 'descending') found.reverse()
    for (const seq of found) {
      if (page.length === limit) return page
      if (order === 'ascending' ? seq > from : seq < from) page.push(seq)
    }
    if (page.length === limit) return page
  }
  return page
}
