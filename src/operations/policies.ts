import { z } from 'zod'
import {
  listPatternsInput,
  listPoliciesInput,
  patternInput,
  patternShape,
  policyInput,
  policyShape,
  putPatternInput,
  putPolicyInput,
  testedShape,
  testPolicyInput,
} from '../gate/policy-shape.ts'
import { ENDS, type Operation, READS, WRITES_ONCE } from './operation.ts'

export const policyOperations: readonly Operation[] = [
  {
    name: 'list_policies',
    title: 'List the rules',
    description:
      'For admins: the rules about which tasks and which calls of upstream tools are allowed, blocked, redacted or need approval, in the order in which they are asked; and what is done where none decides.',
    input: listPoliciesInput,
    output: z.object({
      policies: z.array(policyShape).readonly(),
      defaults: z.object({ plain: z.string(), upstream: z.string() }),
    }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/policies' },
    effect: READS,
    run: (gate, caller, input) => gate.listPolicies(caller, input),
  },
  {
    name: 'get_policy',
    title: 'Look at a rule',
    description: 'For admins: one rule, with who wrote it and when.',
    input: policyInput,
    output: policyShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/policies/{id}' },
    effect: READS,
    run: (gate, caller, input) => gate.getPolicy(caller, input),
  },
  {
    name: 'put_policy',
    title: 'Write a rule',
    description:
      'For admins: adds a rule, or replaces the one of that id. It holds from the next task on, and the change is a receipt. Try it with test_policy first.',
    input: putPolicyInput,
    output: policyShape,
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/policies' },
    effect: WRITES_ONCE,
    run: (gate, caller, input) => gate.putPolicy(caller, input),
  },
  {
    name: 'remove_policy',
    title: 'Remove a rule',
    description:
      'For admins: takes a rule away; the change is a receipt. removed is false if there was none. To switch it off for a while, write it with enabled false.',
    input: policyInput,
    output: z.object({ id: z.string(), removed: z.boolean() }),
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/policies/{id}/remove' },
    effect: ENDS,
    run: (gate, caller, input) => gate.removePolicy(caller, input),
  },
  {
    name: 'test_policy',
    title: 'Try the rules',
    description:
      'For admins: what the rules, or others that you give, would say about a task or a call of a tool, and why; nothing is done. considered tells of every rule what became of it.',
    input: testPolicyInput,
    output: testedShape,
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/policies/test' },
    effect: READS,
    run: (gate, caller, input) => gate.testPolicy(caller, input),
  },
  {
    name: 'list_redaction_patterns',
    title: 'List redaction patterns',
    description:
      'For admins: the patterns that rules can name to take texts out, those that are built in first.',
    input: listPatternsInput,
    output: z.object({ patterns: z.array(patternShape).readonly() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/redaction-patterns' },
    effect: READS,
    run: (gate, caller, input) => gate.listPatterns(caller, input),
  },
  {
    name: 'put_redaction_pattern',
    title: 'Write a redaction pattern',
    description:
      'For admins: adds a pattern that rules can name, or replaces the one of that name: a regular expression as RE2 has it, without look-arounds and back-references.',
    input: putPatternInput,
    output: patternShape,
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/redaction-patterns' },
    effect: WRITES_ONCE,
    run: (gate, caller, input) => gate.putPattern(caller, input),
  },
  {
    name: 'remove_redaction_pattern',
    title: 'Remove a redaction pattern',
    description: 'For admins: takes a pattern away that no rule names. removed is false if there was none.',
    input: patternInput,
    output: z.object({ name: z.string(), removed: z.boolean() }),
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/redaction-patterns/{name}/remove' },
    effect: ENDS,
    run: (gate, caller, input) => gate.removePattern(caller, input),
  },
]
