import { describe, expect, it } from 'vitest'
import { startClock } from '../../src/store/sqlite/clock.ts'

const START = Date.UTC(2026, 0, 1)
const SECOND = 1_000
const HOUR = 3_600 * SECOND

/** A wall clock and a monotonic clock that advance together unless one is changed. */
class Machine {
  #wall = START
  #monotonic = 17.25

  wall = () => this.#wall
  monotonic = () => this.#monotonic

  pass(ms: number): void {
    this.#wall += ms
    this.#monotonic += ms
  }

  /** Monotonic time does not advance while the machine is suspended. */
  suspend(ms: number): void {
    this.#wall += ms
  }

  set(by: number): void {
    this.#wall += by
  }
}

describe('SQLite clock', () => {
  it('the clock returns the wall clock in whole milliseconds', () => {
    const machine = new Machine()
    const now = startClock(0, machine)
    expect(now()).toBe(START)
    machine.pass(1234.5)
    expect(now()).toBe(START + 1234)
  })

  it('the clock includes the time for which the machine was suspended', () => {
    const machine = new Machine()
    const now = startClock(0, machine)
    now()
    machine.suspend(8 * HOUR)
    expect(now()).toBe(START + 8 * HOUR)
    machine.pass(SECOND)
    expect(now()).toBe(START + 8 * HOUR + SECOND)
  })

  it('the clock follows a wall clock that is set forward', () => {
    const machine = new Machine()
    const now = startClock(0, machine)
    now()
    machine.set(HOUR)
    expect(now()).toBe(START + HOUR)
  })

  it('the clock advances and never goes back after the wall clock was set back', () => {
    const machine = new Machine()
    const now = startClock(0, machine)
    now()
    machine.set(-HOUR)
    const times = [now()]
    expect(times[0]).toBe(START)
    for (let n = 0; n < 10; n++) {
      machine.pass(SECOND)
      times.push(now())
    }
    expect(times).toEqual([...times].sort((a, b) => a - b))
    // At 90 % of the speed.
    expect(times.at(-1)).toBe(START + 9 * SECOND)
  })

  it('the clock equals the wall clock again after it has caught up', () => {
    const machine = new Machine()
    const now = startClock(0, machine)
    now()
    machine.set(-HOUR)
    now()
    machine.pass(10 * HOUR + SECOND)
    expect(now()).toBe(machine.wall())
    machine.pass(SECOND)
    expect(now()).toBe(machine.wall())
  })

  it('the clock starts no earlier than the last stored time and advances from there', () => {
    const machine = new Machine()
    const now = startClock(START + HOUR, machine)
    expect(now()).toBe(START + HOUR)
    machine.pass(10 * SECOND)
    expect(now()).toBe(START + HOUR + 9 * SECOND)
  })
})
