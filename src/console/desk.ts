import type { z } from 'zod'
import { Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import { findOperation } from '../features/catalogue.ts'
import type { Gate } from '../features/gate.ts'
import type { Fields } from './fields.ts'

/** Where one visit gets everything from: operations of the catalogue, called by the person who has signed in. */
export interface Desk {
  readonly caller: Caller
  /** The time of the visit, by which pages say how long ago something was. */
  readonly now: number
  /** `shape` says what the page needs of the answer. */
  call<Shape extends z.ZodType>(name: string, input: Fields, shape: Shape): Promise<z.output<Shape>>
}

export function openDesk(gate: Gate, caller: Caller, now: number, signal: AbortSignal): Desk {
  return {
    caller,
    now,
    async call(name, input, shape) {
      const operation = findOperation(name)
      if (operation === undefined) throw new Fault('NOT_FOUND', { operation: name })
      return shape.parse(await gate.call(operation, caller, given(input), signal))
    },
  }
}

/** What a form left empty was not given. */
function given(input: Fields): Fields {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
}
