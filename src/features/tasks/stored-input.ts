import type { CanonicalJson } from '../../core/json/json.ts'
import { membersIn } from '../../core/json/members.ts'
import { LARGE, storedJson } from '../../engine/stored-json.ts'
import { isObject } from '../../util/guards.ts'
import type { CreateInput } from './create.ts'

/** The members that can be large and deep. */
const DEEP: ReadonlySet<string> = new Set(['payload', 'inputs'])

/** The input of create, which was checked when it came in. A large payload is not parsed yet. */
export function storedInput(text: CanonicalJson): CreateInput {
  if (text.length < LARGE) return JSON.parse(text)
  const members = membersIn(text)
  const others = members.filter(([name]) => !DEEP.has(name))
  const input: CreateInput = JSON.parse(`{${others.map(([name, member]) => `"${name}":${member}`)}}`)
  for (const [name, member] of members) {
    if (name === 'payload') input.payload = storedJson(member)
    if (name === 'inputs') {
      const inputs = storedJson(member)
      if (isObject(inputs)) input.inputs = inputs
    }
  }
  return input
}
