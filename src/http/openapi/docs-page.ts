import { createHash } from 'node:crypto'
import type { JsonSchema } from '../../features/define-operation.ts'
import type { OpenApi } from './openapi.ts'
import type { PathOperation } from './path-operation.ts'

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --soft: light-dark(#666, #aaa); --code: light-dark(#f4f4f4, #222) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 small { font-size: 1rem; color: var(--soft) }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line) }
section { margin: 2rem 0 }
code { font: 0.9em ui-monospace, monospace; background: var(--code); padding: 0.1em 0.3em; border-radius: 3px }
h3 code { font-weight: 600 }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0; font-size: 0.9rem }
th, td { text-align: left; vertical-align: top; border-top: 1px solid var(--line); padding: 0.25rem 0.75rem 0.25rem 0 }
th { color: var(--soft); font-weight: 400 }
nav ul { columns: 2; padding-left: 1rem }
.soft { color: var(--soft) }
`

/** A page to read, made from the same document that machines get. It loads nothing. */
export function docsPage(document: OpenApi): { readonly html: string; readonly policy: string } {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const groups = document.tags.map(({ name, description }) => ({
    name,
    description,
    entries: operations.filter(({ operation }) => operation.tags.includes(name)),
  }))
  const { schemas, responses } = document.components
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>AsyncGate API</title>
<style>${STYLE}</style>
</head>
<body>
<h1>AsyncGate <small>${markup(String(document.info.version))}</small></h1>
<p>${markup(String(document.info.description))} The same as a document for machines: <a href="/openapi.json">/openapi.json</a>.</p>
<p>Send a key as <code>Authorization: Bearer KEY</code> or <code>X-API-Key: KEY</code>. Under a shared key the request
names its principal, in the body or the query.</p>
<nav><ul>
${operations.map(({ path, method, operation }) => `<li><a href="#${operation.operationId}">${method} ${markup(path)}</a></li>`).join('\n')}
</ul></nav>
${groups.map(({ name, description, entries }) => `<h2>${markup(name)}</h2>\n<p>${markup(description)}</p>\n${entries.map(({ path, method, operation }) => section(path, method, operation)).join('\n')}`).join('\n')}
<h2>Shapes</h2>
${Object.entries(schemas)
  .map(([name, schema]) => `<section id="schema-${name}"><h3>${name}</h3>${fields(schema)}</section>`)
  .join('\n')}
<h2>Errors</h2>
<table><tr><th>Status</th><th>Codes</th></tr>
${Object.entries(responses)
  .map(([name, { description }]) => row(name.replace('Error', ''), markup(String(description))))
  .join('\n')}
</table>
</body>
</html>
`
  const hash = createHash('sha256').update(STYLE).digest('base64')
  return {
    html,
    policy: `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'; base-uri 'none'`,
  }
}

function section(path: string, method: string, operation: PathOperation): string {
  const { operationId, summary, description, parameters = [], responses } = operation
  const tool = operation['x-mcp-tool']
  const given = parameters.map((parameter) =>
    row(
      `<code>${markup(String(parameter.name))}</code>`,
      typeName(parameter.schema),
      parameter.required === true ? 'required' : '',
      `${markup(String(parameter.description ?? about(parameter.schema)))} <span class="soft">in the ${markup(String(parameter.in))}</span>`,
    ),
  )
  const body = schemaIn(operation.requestBody)
  const answer = schemaIn(responses['200'])
  return `<section id="${operationId}">
<h3><code>${method} ${markup(path)}</code> ${markup(summary)}${operation.deprecated ? ' <span class="soft">deprecated</span>' : ''}</h3>
${description === undefined ? '' : `<p>${markup(description)}</p>`}
${tool === undefined ? '' : `<p class="soft">MCP tool <code>${markup(tool)}</code></p>`}
${given.length > 0 ? `<table>${given.join('\n')}</table>` : ''}
${body === undefined ? '' : `<p>Body</p>${fields(body)}`}
${answer === undefined ? '' : `<p>Answer</p>${fields(answer)}`}
</section>`
}

function schemaIn(part: JsonSchema | undefined): unknown {
  const [media] = Object.values(members(part?.content))
  return members(media).schema
}

/** The members of an object, or what else the schema is. */
function fields(schema: unknown): string {
  const { properties, required } = members(schema)
  const entries = Object.entries(members(properties))
  if (entries.length === 0) return `<p>${typeName(schema)}</p>`
  const needed = Array.isArray(required) ? required : []
  const rows = entries.map(([name, member]) =>
    row(
      `<code>${markup(name)}</code>`,
      typeName(member),
      needed.includes(name) ? 'required' : '',
      markup(about(member)),
    ),
  )
  return `<table>${rows.join('\n')}</table>`
}

function about(schema: unknown): string {
  const { description, minimum, maximum, maxLength, default: standard } = members(schema)
  return [
    description,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    standard !== undefined && `${JSON.stringify(standard)} unless given`,
  ]
    .filter((part) => typeof part === 'string')
    .join('; ')
}

/** In markup. */
function typeName(schema: unknown): string {
  const { $ref, type, anyOf, items, const: only, enum: values } = members(schema)
  if (typeof $ref === 'string') {
    const name = markup($ref.split('/').at(-1) ?? '')
    return `<a href="#schema-${name}">${name}</a>`
  }
  if (only !== undefined) return markup(JSON.stringify(only))
  if (Array.isArray(values)) return markup(values.join(' | '))
  if (Array.isArray(anyOf)) return anyOf.map(typeName).join(' or ')
  if (type === 'array') return `list of ${typeName(items)}`
  return markup(Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : 'any JSON')
}

function row(...cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function markup(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
}
