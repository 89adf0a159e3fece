import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unifiedDiff } from '../../../src/cli/commands/mcp/diff.ts'
import { jsonc } from '../../../src/cli/commands/mcp/jsonc.ts'
import { UnsafeEdit } from '../../../src/cli/commands/mcp/settings-text.ts'
import { toml } from '../../../src/cli/commands/mcp/toml.ts'

const PATH = ['mcpServers', 'asyncgate']
const ENTRY = { url: 'http://gate:1/mcp' }

const COMMENTED = `// Settings of the editor
{
\t"theme": "dark", // at night
\t/* servers */
\t"mcpServers": {
\t\t"other": { "command": "x", "args": ["a", ] }, // keep: "asyncgate"
\t},
}
`

describe('JSON with comments', () => {
  it('an entry is added without touching comments, order and trailing commas', () => {
    expect(jsonc.set(COMMENTED, PATH, ENTRY)).toBe(
      COMMENTED.replace(
        '\n\t},\n}',
        '\n\t\t"asyncgate": {\n\t\t\t"url": "http://gate:1/mcp"\n\t\t},\n\t},\n}',
      ),
    )
  })

  it.each([
    [
      'an empty file',
      '',
      '{\n  "mcpServers": {\n    "asyncgate": {\n      "url": "http://gate:1/mcp"\n    }\n  }\n}\n',
    ],
    [
      'a file with an object in one line',
      '{"a": 1}',
      '{"a": 1,\n  "mcpServers": {\n    "asyncgate": {\n      "url": "http://gate:1/mcp"\n    }\n  }\n}',
    ],
    [
      'a comment after the last member',
      '{\n  "a": 1 // one\n}\n',
      '{\n  "a": 1, // one\n  "mcpServers": {\n    "asyncgate": {\n      "url": "http://gate:1/mcp"\n    }\n  }\n}\n',
    ],
    [
      'Windows line ends',
      '{\r\n    "mcpServers": {}\r\n}\r\n',
      '{\r\n    "mcpServers": {\r\n        "asyncgate": {\r\n            "url": "http://gate:1/mcp"\r\n        }\r\n    }\r\n}\r\n',
    ],
  ])('an entry is added to %s', (_, before, after) => {
    expect(jsonc.set(before, PATH, ENTRY)).toBe(after)
    expect(jsonc.set(after, PATH, ENTRY)).toBe(after)
  })

  it('an entry of the same value in other text is not changed', () => {
    const text = '{"mcpServers":{"asyncgate":{"url" : "http:\\/\\/gate:1/mcp"}}}'
    expect(jsonc.set(text, PATH, ENTRY)).toBe(text)
  })

  it('a byte order mark is kept', () => {
    const text = '\uFEFF{"mcpServers": {}}'
    const added = jsonc.set(text, PATH, ENTRY)
    expect(added).toMatch(/^\uFEFF\{"mcpServers": \{\n/)
    expect(jsonc.set(added, PATH, ENTRY)).toBe(added)
    expect(jsonc.remove(added, PATH)).toMatch(/^\uFEFF\{"mcpServers": \{\s*\}\}$/)
  })

  it('elements in the same line keep their format', () => {
    const text = '{ "mcpServers": {"z":[ 1,2 ] , "asyncgate":{"old":true}}, "a":{ } }'
    expect(jsonc.set(text, PATH, ENTRY)).toBe(
      text.replace('{"old":true}', '{\n  "url": "http://gate:1/mcp"\n}'),
    )
    expect(jsonc.set(text, ['mcpServers', 'x'], 1)).toBe(
      text.replace('{"old":true}', '{"old":true},\n  "x": 1\n'),
    )
  })

  it('an entry is replaced in place', () => {
    const text = '{\n  "mcpServers": {\n    "asyncgate": {"old": true}, // ours\n    "z": {}\n  }\n}\n'
    expect(jsonc.set(text, PATH, ENTRY)).toBe(
      text.replace('{"old": true}', '{\n      "url": "http://gate:1/mcp"\n    }'),
    )
  })

  it.each([
    [
      '{\n  "mcpServers": {\n    "a": 1,\n    "asyncgate": {}\n  }\n}',
      '{\n  "mcpServers": {\n    "a": 1\n  }\n}',
    ],
    [
      '{\n  "mcpServers": {\n    "asyncgate": {},\n    "b": 1\n  }\n}',
      '{\n  "mcpServers": {\n    "b": 1\n  }\n}',
    ],
    ['{ "mcpServers": { "a": 1, "asyncgate": {} } }', '{ "mcpServers": { "a": 1  } }'],
    ['{ "mcpServers": { "asyncgate": {} } }', '{ "mcpServers": {  } }'],
    [
      '{ "mcpServers": {\n  "a": 1, // first\n  "asyncgate": {} // ours\n} }',
      '{ "mcpServers": {\n  "a": 1 // first\n   // ours\n} }',
    ],
    [
      '{ "mcpServers": { // servers\n  // ours\n  "asyncgate": {},\n  /* next */ "b": 1, // last\n} }',
      '{ "mcpServers": { // servers\n  // ours\n  /* next */ "b": 1, // last\n} }',
    ],
  ])('an entry is removed from %j', (before, after) => {
    expect(jsonc.remove(before, PATH)).toBe(after)
    expect(jsonc.remove(after, PATH)).toBe(after)
  })

  it('an item of an array is found by its id', () => {
    const path = ['inputs', { id: 'key' }]
    const added = jsonc.set('{\n  "inputs": [\n    { "id": "other" }\n  ]\n}\n', path, { id: 'key', n: 1 })
    expect(JSON.parse(added)).toEqual({ inputs: [{ id: 'other' }, { id: 'key', n: 1 }] })
    expect(JSON.parse(jsonc.set(added, path, { id: 'key', n: 2 }))).toEqual({
      inputs: [{ id: 'other' }, { id: 'key', n: 2 }],
    })
    expect(JSON.parse(jsonc.remove(added, path))).toEqual({ inputs: [{ id: 'other' }] })
  })

  it.each([
    ['{"mcpServers": {', 'line 1, column 17'],
    ['{\n  mcpServers: {}\n}', 'line 2, column 3: a key in double quotes'],
    ["{'a': 1}", 'a key in double quotes'],
    ['{} {}', 'the end of the file'],
    ['{"a": 01}', '","'],
    ['{"a": tru}', 'a value'],
    ['{"a" 1}', '":"'],
    ['[1]', 'an object is expected'],
    ['{"mcpServers": []}', 'an object is expected where "asyncgate" belongs'],
    ['{"mcpServers": {"asyncgate": 1, "asyncgate": 2}}', 'occurs more than once'],
    [`${'['.repeat(200)}${']'.repeat(200)}`, 'nested too deeply'],
    ['{"a": "\u0001"}', 'a value'],
    ['{ /* open', 'a key in double quotes'],
  ])('%j is refused', (text, why) => {
    expect(() => jsonc.set(text, PATH, ENTRY)).toThrow(UnsafeEdit)
    expect(() => jsonc.set(text, PATH, ENTRY)).toThrow(why)
  })

  it('text that is nested a million times is refused', () => {
    expect(() => jsonc.set('{"a":'.repeat(1_000_000), PATH, ENTRY)).toThrow(UnsafeEdit)
  })

  it('for any JSON in any indentation, setting and removing changes one value only', () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
    fc.assert(
      fc.property(value, value, fc.constantFrom(0, 1, 2, 4, '\t'), (root, servers, indent) => {
        const { asyncgate: _, ...others } = servers
        const before = { ...root, mcpServers: others }
        // JSON has no negative zero, and __proto__ is not an own key of a literal.
        const plain = JSON.parse(JSON.stringify(before))
        const text = JSON.stringify(plain, null, indent)
        const added = jsonc.set(text, PATH, ENTRY)
        expect(JSON.parse(added)).toEqual({
          ...plain,
          mcpServers: { ...plain.mcpServers, ...{ asyncgate: ENTRY } },
        })
        expect(JSON.parse(jsonc.remove(added, PATH))).toEqual(plain)
        expect(jsonc.set(added, PATH, ENTRY)).toBe(added)
      }),
    )
  })
})

const TOML_PATH = ['mcp_servers', 'asyncgate']
const TABLE = { url: 'http://gate:1/mcp', tool_timeout_sec: 60 }
const WRITTEN = '[mcp_servers.asyncgate]\nurl = "http://gate:1/mcp"\ntool_timeout_sec = 60\n'
const OTHERS = `# model
model = "x" # the default
notes = """
[mcp_servers.asyncgate]
"""

[mcp_servers.other]
command = "npx" # start
args = [
  "a", # first
  'b',
]
env = { A = "1" }

[[projects]]
path = '/x'
at = 1979-05-27 07:32:00
`

describe('TOML', () => {
  it('a table is appended, and other text is kept', () => {
    expect(toml.set('', TOML_PATH, TABLE)).toBe(WRITTEN)
    expect(toml.set(OTHERS, TOML_PATH, TABLE)).toBe(`${OTHERS}\n${WRITTEN}`)
    expect(toml.set('a = 1', TOML_PATH, TABLE)).toBe(`a = 1\n\n${WRITTEN}`)
    expect(toml.set('a = 1\r\n', TOML_PATH, TABLE)).toBe(`a = 1\r\n\r\n${WRITTEN.replaceAll('\n', '\r\n')}`)
  })

  it('a table that is up to date is not changed, and another one is replaced in place', () => {
    const same = `${OTHERS}\n[ mcp_servers . "asyncgate" ] # ours\ntool_timeout_sec = 60\nurl = "http://gate:1/mcp"\n\n[z]\n`
    expect(toml.set(same, TOML_PATH, TABLE)).toBe(same)
    const other = `${OTHERS}\n[mcp_servers.asyncgate]\nurl = "http://old"\nenabled = false\n\n# about z\n[z]\n`
    expect(toml.set(other, TOML_PATH, TABLE)).toBe(`${OTHERS}\n${WRITTEN}\n# about z\n[z]\n`)
  })

  it('tables in the table are kept when it is set, and removed with it', () => {
    const inner = '\n[mcp_servers.asyncgate.tools.x]\napproval_mode = "approve"\n'
    const text = `${OTHERS}\n[mcp_servers.asyncgate]\nurl = "old"\n${inner}\n[z]\n`
    expect(toml.set(text, TOML_PATH, TABLE)).toBe(`${OTHERS}\n${WRITTEN}${inner}\n[z]\n`)
    expect(toml.remove(text, TOML_PATH)).toBe(`${OTHERS}\n[z]\n`)
  })

  it('removing undoes setting', () => {
    expect(toml.remove(toml.set(OTHERS, TOML_PATH, TABLE), TOML_PATH)).toBe(OTHERS)
    expect(toml.remove(WRITTEN, TOML_PATH)).toBe('')
    expect(toml.remove(OTHERS, TOML_PATH)).toBe(OTHERS)
  })

  it.each([
    ['mcp_servers = { asyncgate = { url = "x" } }\n', 'mcp_servers is not written as a separate table'],
    ['mcp_servers.asyncgate.url = "x"\n', 'not written as a separate table'],
    ['[mcp_servers]\nasyncgate = { url = "x" }\n', 'not written as a separate table'],
    ['[mcp_servers]\nasyncgate.url = "x"\n', 'not written as a separate table'],
    ['[[mcp_servers]]\n', 'not written as a separate table'],
    [`${WRITTEN}${WRITTEN}`, 'occurs more than once'],
    ['a = "x\n', 'line 1, column 5: a value'],
    ['a = [1, 2\n', 'line 2'],
    ['a = """x', 'line 1'],
    ['a\n', '"="'],
    ['[a\n', '"]"'],
    ['a = 1 b = 2\n', 'the end of the line'],
    ['{"json": true}', 'a key'],
    ['a = yes\n', 'a value'],
  ])('%j is refused', (text, why) => {
    expect(() => toml.set(text, TOML_PATH, TABLE)).toThrow(UnsafeEdit)
    expect(() => toml.set(text, TOML_PATH, TABLE)).toThrow(why)
  })
})

describe('diff', () => {
  it('a diff shows the changes with three lines of context', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i + 1}`)
    const changed = lines.toSpliced(15, 1, 'sixteen', 'more').toSpliced(1, 1)
    const text = (given: readonly string[]) => `${given.join('\n')}\n`
    expect(unifiedDiff(text(lines), text(changed), 'f').join('\n')).toBe(
      [
        '--- f',
        '+++ f',
        '@@ -1,5 +1,4 @@',
        ' line 1',
        '-line 2',
        ' line 3',
        ' line 4',
        ' line 5',
        '@@ -13,7 +12,8 @@',
        ' line 13',
        ' line 14',
        ' line 15',
        '-line 16',
        '+sixteen',
        '+more',
        ' line 17',
        ' line 18',
        ' line 19',
      ].join('\n'),
    )
  })

  it('a diff of equal texts is empty, and that of a new file starts with /dev/null', () => {
    expect(unifiedDiff('a\n', 'a\n', 'f')).toEqual([])
    expect(unifiedDiff('', 'a\nb', 'f')).toEqual([
      '--- /dev/null',
      '+++ f',
      '@@ -0,0 +1,2 @@',
      '+a',
      '+b',
      '\\ No newline at end of file',
    ])
  })

  it('a large change is shown as one block that is removed and one that is added', () => {
    const text = (name: string) =>
      Array.from({ length: 3000 }, (_, i) => (i === 1500 ? 'same' : `${name} ${i}`)).join('\n')
    const lines = unifiedDiff(text('old'), `${text('new')}\n`, 'f')
    expect(lines.slice(0, 4)).toEqual(['--- f', '+++ f', '@@ -1,3000 +1,3000 @@', '-old 0'])
    expect(lines.slice(3001, 3005)).toEqual([
      '-old 2998',
      '-old 2999',
      '\\ No newline at end of file',
      '+new 0',
    ])
    expect(lines).toEqual(expect.arrayContaining(['-same', '+same', '+new 2999']))
    expect(lines).toHaveLength(6004)
  })

  it('names that are not ASCII are shown as they are', () => {
    expect(unifiedDiff('a\n', 'b\n', '/home/jörg/f').slice(0, 2)).toEqual([
      '--- /home/jörg/f',
      '+++ /home/jörg/f',
    ])
  })
})
