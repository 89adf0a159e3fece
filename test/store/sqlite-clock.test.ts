import { describe, expect, it } from 'vitest'
import { startClock } from '../../src/store/sqlite/clock.ts'

const START = Date.UTC(2026, 0, 1)
const SECOND = 1_000
const HOUR = 3_600 * SECOND

/** A wall clock and a monotonic one that go on together, unless one of them is told otherwise. */
class Machine {
  #wall = START
  #monotonic = 17.25

  wall = () => this.#wall
  monotonic = () => this.#monotonic

  pass(ms: number): void {
    this.#wall += ms
    this.#monotonic += ms
  }

  /** Monotonic time does not count what passes while the machine is suspended. */
  suspend(ms: number): void {
    this.#wall += ms
  }

  set(by: number): void {
    this.#wall += by
  }
}

describe('the clock of SQLite', () => {
  it('shows the wall clock in whole milliseconds', () => {
    const machine = new Machine()
    const now = startClock(0, machine)
    expect(now()).toBe(START)
    machine.pass(1234.5)
    expect(now()).toBe(START + 1234)
  })

  it('counts the time for which the machine was suspended', () => {
    const machine = new Machine()
    const now = startClock(0, machine)
    now()
    machine.suspend(8 * HOUR)
    expect(now()).toBe(START + 8 * HOUR)
    machine.pass(SECOND)
    expect(now()).toBe(START + 8 * HOUR + SECOND)
  })

  it('follows a wall clock that is set forward', () => {
    const machine = new Machine()
    const now = startClock(0, machine)
    now()
    machine.set(HOUR)
    expect(now()).toBe(START + HOUR)
  })

  it('goes on, and never back, while a wall clock that was set back catches up', () => {
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
    // At nine tenths of the pace.
    expect(times.at(-1)).toBe(START + 9 * SECOND)
  })

  it('shows the wall clock again once that has caught up', () => {
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

  it('starts no earlier than the last time that was stored, and goes on from there', () => {
    const machine = new Machine()
    const now = startClock(START + HOUR, machine)
    expect(now()).toBe(START + HOUR)
    machine.pass(10 * SECOND)
    expect(now()).toBe(START + HOUR + 9 * SECOND)
  })
})
