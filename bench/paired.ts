import { processorSeconds } from './processor.ts'

/** A process under load, and a function that loads it for some seconds. */
export interface Arm {
  readonly pid: number
  /** Returns operations per second. */
  measure(seconds: number): Promise<number>
  stop(): Promise<void>
}

export interface Turns {
  readonly rounds: number
  readonly seconds: number
}

interface Sample {
  readonly rate: number
  /** Processor seconds of the process for each operation. */
  readonly cost: number
}

/** What was measured in each round. */
export interface Paired {
  readonly one: readonly Sample[]
  readonly other: readonly Sample[]
  /** The rate of the one divided by that of the other. */
  readonly rates: readonly number[]
  /** The cost of the one divided by that of the other. */
  readonly costs: readonly number[]
}

/**
 * Loads two running processes in turns of a few seconds, because the speed of a shared machine changes more from minute to
 * minute than most variants differ. The order changes every round, so that neither is always on the slower half of a drift.
 */
export async function inTurns(one: Arm, other: Arm, { rounds, seconds }: Turns): Promise<Paired> {
  const samples: { one: Sample[]; other: Sample[] } = { one: [], other: [] }
  for (const arm of [one, other]) await arm.measure(seconds)
  for (let round = 0; round < rounds; round++) {
    const isFirst = round % 2 === 0
    const [first, second] = isFirst ? [one, other] : [other, one]
    const [a, b] = [await sample(first, seconds), await sample(second, seconds)]
    samples.one.push(isFirst ? a : b)
    samples.other.push(isFirst ? b : a)
  }
  const ratios = (value: (sample: Sample) => number) =>
    samples.one.map(
      (mine, i) => value(mine) / value(samples.other[i] ?? { rate: Number.NaN, cost: Number.NaN }),
    )
  return { ...samples, rates: ratios(({ rate }) => rate), costs: ratios(({ cost }) => cost) }
}

async function sample(arm: Arm, seconds: number): Promise<Sample> {
  const [before, startedAt] = [processorSeconds(arm.pid), performance.now()]
  const rate = await arm.measure(seconds)
  const operations = (rate * (performance.now() - startedAt)) / 1000
  return { rate, cost: (processorSeconds(arm.pid) - before) / operations }
}
