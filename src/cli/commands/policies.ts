import type { GetPolicyAnswer } from '../../client/operations.ts'
import { removeCommand, serverCommand } from '../client.ts'
import { flag, text, texts } from '../input.ts'
import type { Output } from '../output.ts'

const list = serverCommand({
  name: 'policies list',
  summary: 'List the rules in the order of evaluation, and the default actions.',
  async run(client, _, output) {
    const found = await client.call('listPolicies', {})
    output.result(found, () => {
      const { policies, defaults } = found
      if (policies.length > 0) {
        output.table(
          ['RULE', 'PRIORITY', 'ACTION', 'FOR', 'CONDITION', 'STATE', 'FROM'],
          policies.map((policy) => [
            policy.id,
            policy.priority,
            policy.action,
            scopeOf(policy),
            policy.condition && JSON.stringify(policy.condition).slice(0, 60),
            stateOf(policy),
            policy.source,
          ]),
        )
        output.print()
      }
      output.print(`Otherwise: tasks ${defaults.plain}, calls of upstream tools ${defaults.upstream}`)
    })
  },
})

const show = serverCommand({
  name: 'policies show',
  summary: 'Show a rule.',
  takes: ['ID'],
  async run(client, input, output) {
    const policy = await client.call('getPolicy', { id: input.arg(0) })
    output.result(policy, () => printPolicy(output, policy))
  },
})

const set = serverCommand({
  name: 'policies set',
  summary: 'Create or replace a rule.',
  takes: ['ID', 'ACTION'],
  options: {
    upstream: text('NAME', 'only for tools of this upstream; * is any text'),
    tool: text('NAME', 'only for this tool, by its name at the upstream'),
    category: text('NAME', 'only for tools of this category'),
    type: text('TYPE', 'only for tasks of this type'),
    principal: text('KIND:ID', 'only for this principal, or the agent with this id'),
    when: text('JSON', 'the condition, as in \'{">": [{"var": "args.amount"}, 100]}\''),
    priority: text('N', 'rules with a higher priority are evaluated first; default 0'),
    redact: text('WHAT', 'for REDACT: args, result or both'),
    path: texts('PATH', 'what to redact, as in $.card'),
    pattern: texts('NAME', 'a redaction pattern'),
    'approval-expires': text('SECONDS', 'for REQUIRE_APPROVAL: time until the approval expires'),
    'approve-by': text(
      'WHO',
      'for REQUIRE_APPROVAL: person (the default), or client: also the user of the client that made the call',
    ),
    approves: text('ID', 'for ALLOW: applies only where this rule, or * for any rule, requires approval'),
    until: text('TIME', 'when the rule expires, as in 2026-12-31T17:00:00Z'),
    description: text('TEXT', 'the purpose of the rule; blocked callers see it'),
    disabled: flag('store the rule without applying it'),
  },
  notes: () =>
    'ACTION is ALLOW, BLOCK, REDACT or REQUIRE_APPROVAL. Try a rule with "asyncgate policies test".',
  async run(client, input, output) {
    const targets = input.text('redact')
    const [paths, patterns] = [input.texts('path'), input.texts('pattern')]
    if (targets === undefined && paths.length + patterns.length > 0) {
      throw input.usageError('--path and --pattern need --redact args, result or both.')
    }
    const policy = await client.call('putPolicy', {
      id: input.arg(0),
      action: input.arg(1).toUpperCase().replaceAll('-', '_'),
      description: input.text('description'),
      scope: {
        upstream: input.text('upstream'),
        tool: input.text('tool'),
        category: input.text('category'),
        type: input.text('type'),
        principal: input.text('principal'),
      },
      condition: input.json('when'),
      redact: targets === undefined ? undefined : { targets, paths, patterns },
      approves: input.text('approves'),
      approval_expires_in_seconds: input.integer('approval-expires'),
      approve_by: input.text('approve-by'),
      priority: input.integer('priority'),
      enabled: !input.flag('disabled'),
      expires_at: input.text('until'),
    })
    output.result(policy, () => printPolicy(output, policy))
  },
})

const remove = removeCommand({
  name: 'policies remove',
  summary: 'Remove a rule.',
  takes: ['ID'],
  noun: 'rule',
  list: 'policies list',
  remove: (client, id) => client.call('removePolicy', { id }),
})

const test = serverCommand({
  name: 'policies test',
  summary: 'Show what the rules would decide about a task or a tool call. Nothing is created.',
  options: {
    type: text('TYPE', 'type of the task; mcp.tool_call if --tool is given'),
    upstream: text('NAME', 'upstream of the tool'),
    tool: text('NAME', 'the tool, by its name at the upstream'),
    category: text('NAME', 'category of the tool; default its own'),
    principal: text('KIND:ID', 'the caller; default you'),
    agent: text('ID', 'the agent on whose behalf the call is made'),
    session: text('ID', 'the session'),
    args: text('JSON', 'the payload, or the arguments of the tool'),
    inputs: text('JSON', 'inputs of the task'),
    body: text('TEXT', 'body of the task'),
    'payload-pointer': text('URI', 'location of the payload of the task'),
    requirements: text('JSON', 'requirements of the task, as in \'{"tags": ["prod"]}\''),
    rules: text('FILE', 'test the rules and patterns of this file instead of the rules of the server'),
  },
  async run(client, input, output) {
    const file = input.text('rules')
    const tested = await client.call('testPolicy', {
      context: {
        type: input.text('type'),
        upstream: input.text('upstream'),
        tool: input.text('tool'),
        category: input.text('category'),
        principal: input.text('principal'),
        agent: input.text('agent'),
        session: input.text('session'),
        args: input.json('args'),
        inputs: input.json('inputs'),
        body: input.text('body'),
        payload_pointer: input.text('payload-pointer'),
        requirements: input.json('requirements'),
      },
      ...(file !== undefined && (await rulesOf(file))),
    })
    output.result(tested, () => {
      output.print(`${tested.action}: ${tested.reason}`)
      if (tested.approve_by === 'client') {
        output.print('The user of the client that makes the call may approve it in the client.')
      }
      if (tested.redacted_fields.length > 0) {
        output.details([
          ['redacted', tested.redacted_fields.join(', ')],
          ['args', JSON.stringify(tested.args)],
        ])
      }
      if (tested.redacts_result) output.print('The result would be redacted, too.')
      if (tested.considered.length === 0) return
      output.print()
      output.table(
        ['RULE', 'APPLIED', 'WHY'],
        tested.considered.map(({ id, applied, why }) => [id, applied ? 'yes' : 'no', why]),
      )
    })
  },
})

const patterns = serverCommand({
  name: 'policies patterns',
  summary: 'List the redaction patterns that rules can name.',
  async run(client, _, output) {
    const found = await client.call('listRedactionPatterns', {})
    output.result(found, () => {
      output.table(
        ['PATTERN', 'STATE', 'FROM', 'REPLACED BY', 'FINDS'],
        found.patterns.map(({ name, enabled, source, replacement, description, pattern }) => [
          name,
          enabled ? 'on' : 'off',
          source,
          replacement,
          description ?? pattern,
        ]),
      )
    })
  },
})

const setPattern = serverCommand({
  name: 'policies set-pattern',
  summary: 'Create or replace a redaction pattern.',
  takes: ['NAME', 'PATTERN'],
  options: {
    replacement: text('TEXT', 'text that replaces a match; default [REDACTED]'),
    description: text('TEXT', 'what the pattern finds'),
    disabled: flag('store the pattern without applying it'),
  },
  notes: () => 'PATTERN is a regular expression in the syntax of RE2: no look-arounds, no back-references.',
  async run(client, input, output) {
    const pattern = await client.call('putRedactionPattern', {
      name: input.arg(0),
      pattern: input.arg(1),
      replacement: input.text('replacement'),
      description: input.text('description'),
      enabled: !input.flag('disabled'),
    })
    output.result(pattern, () => output.print(`${pattern.name} is stored; rules can name it now`))
  },
})

const removePattern = removeCommand({
  name: 'policies remove-pattern',
  summary: 'Remove a redaction pattern that no rule names.',
  takes: ['NAME'],
  noun: 'redaction pattern',
  list: 'policies patterns',
  remove: (client, name) => client.call('removeRedactionPattern', { name }),
})

async function rulesOf(file: string) {
  const { readPoliciesFile } = await import('../../server/operator-files.ts')
  const { rules, patterns } = await readPoliciesFile(file)
  return { rules, patterns }
}

/** The scope of a rule, as in `tool=send_* principal=agent:alice`. */
function scopeOf({ scope }: GetPolicyAnswer): string {
  const parts = Object.entries(scope).map(([name, value]) => `${name}=${value}`)
  return parts.length === 0 ? 'everything' : parts.join(' ')
}

function stateOf({ enabled, expires_at }: GetPolicyAnswer): string {
  if (!enabled) return 'off'
  if (expires_at === null) return 'on'
  return Date.parse(expires_at) <= Date.now() ? 'expired' : `until ${expires_at}`
}

function printPolicy(output: Output, policy: GetPolicyAnswer): void {
  const { redact, approves, approve_by, approval_expires_in_seconds: seconds, version } = policy
  output.details([
    ['rule', `${policy.id} (${policy.source})`],
    ['purpose', policy.description],
    ['for', scopeOf(policy)],
    ['action', policy.action],
    ['condition', policy.condition && JSON.stringify(policy.condition)],
    ['redacts', redact && `${redact.targets}: ${[...redact.paths, ...redact.patterns].join(', ')}`],
    ['approves', approves && `where ${approves === '*' ? 'any rule' : approves} requires approval`],
    ['approval', seconds === null ? '' : `expires after ${seconds} s`],
    ['by', approve_by === 'client' ? 'a person, or the user of the client in the client' : ''],
    ['priority', policy.priority],
    ['state', stateOf(policy)],
    ['version', version === null ? '' : `${version}, by ${policy.updated_by} at ${policy.updated_at}`],
  ])
}

export const commands = [list, show, set, remove, test, patterns, setPattern, removePattern]
