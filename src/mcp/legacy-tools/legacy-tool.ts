import type { z } from 'zod'
import { callerOf, type Fields, splitIdentity } from '../../auth/caller.ts'
import type { Caller } from '../../core/principal.ts'
import type { Operation } from '../../features/define-operation.ts'
import type { Gate } from '../../features/gate.ts'
import { parse } from '../../features/input.ts'
import { withIdentity } from '../tools/identity.ts'
import type { Call } from '../tools/tool.ts'

export interface LegacyContext {
  readonly gate: Gate
}

/** A tool under the name, with the arguments and with the answer that it had before. */
export interface LegacyTool<Input extends z.ZodObject = z.ZodObject>
  extends Pick<Operation, 'title' | 'description' | 'output' | 'actor' | 'effect'> {
  readonly name: string
  /** The operation that does it now, for the documentation. */
  readonly now: string
  readonly input: Input
  /** What the input says about who calls, where the call names nobody. */
  identity?(input: z.output<Input>, context: LegacyContext, call: Call): Fields | Promise<Fields>
  run(context: LegacyContext, caller: Caller, input: z.output<Input>, call: LegacyCall): Promise<object>
}

export interface LegacyCall extends Call {
  /** What `identity` found. */
  readonly implied: Fields
}

/** Tools of different inputs in one list: each checks its own. */
export interface AnyLegacyTool extends Omit<LegacyTool, 'identity' | 'run'> {
  call(context: LegacyContext, args: Fields, call: Call): Promise<object>
}

export function legacyTool<Input extends z.ZodObject>(tool: LegacyTool<Input>): AnyLegacyTool {
  const { identity, run, ...described } = tool
  return {
    ...described,
    async call(context, args, call) {
      if (call.flaw) throw call.flaw
      const { identity: named, rest } = splitIdentity(args, (name) => name in tool.input.shape)
      const input = parse(tool.input, rest)
      const implied = (await identity?.(input, context, call)) ?? {}
      const called = { actor: tool.actor, input: { shape: {} } }
      const { caller } = callerOf(
        call.credential,
        called,
        withIdentity({ ...implied, ...named }, call, called),
      )
      return run(context, caller, input, { ...call, implied })
    },
  }
}
