import { createHash } from 'node:crypto'
import type { JsonSchema } from '../../features/define-operation.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import type { PathOperation } from './endpoints.ts'
import type { OpenApi } from './openapi.ts'

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

/** The documentation page, made from the OpenAPI document. It loads no resources. */
export function docsPage(document: OpenApi): { readonly html: string; readonly policy: string } {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const { schemas, responses } = document.components
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>AsyncGate API</title>
<style>${STYLE}</style>
</head>
<body>
<h1>AsyncGate <small>${String(document.info.version)}</small></h1>
<p>${String(document.info.description)} The OpenAPI document: <a href="/openapi.json">/openapi.json</a>.</p>
<p>Send a key as <code>Authorization: Bearer KEY</code> or <code>X-API-Key: KEY</code>. Under a shared key the request
names its principal, in the body or the query.</p>
<nav><ul>
${operations.map(({ path, method, operation }) => html`<li><a href="#${operation.operationId}">${method} ${path}</a></li>\n`)}
</ul></nav>
${document.tags.map(
  ({ name, description }) => html`<h2>${name}</h2>
<p>${description}</p>
${operations.filter(({ operation }) => operation.tags.includes(name)).map(({ path, method, operation }) => section(path, method, operation))}`,
)}
<h2>Schemas</h2>
${Object.entries(schemas).map(([name, schema]) => html`<section id="schema-${name}"><h3>${name}</h3>${fields(schema)}</section>\n`)}
<h2>Errors</h2>
<table><tr><th>Status</th><th>Codes</th></tr>
${Object.entries(responses).map(([name, { description }]) => row(name.replace('Error', ''), String(description)))}
</table>
</body>
</html>
`
  const hash = createHash('sha256').update(STYLE).digest('base64')
  return {
    html: String(page),
    policy: `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'; base-uri 'none'`,
  }
}

function section(path: string, method: string, operation: PathOperation): Html {
  const { operationId, summary, description, parameters = [], responses } = operation
  const tool = operation['x-mcp-tool']
  const body = schemaIn(operation.requestBody)
  const result = schemaIn(responses['200'])
  const parameterRows = parameters.map(({ name, schema, required, in: place, ...parameter }) =>
    row(
      html`<code>${String(name)}</code>`,
      typeName(schema),
      required === true ? 'required' : '',
      html`${String(parameter.description ?? about(schema))} <span class="soft">in the ${String(place)}</span>`,
    ),
  )
  return html`<section id="${operationId}">
<h3><code>${method} ${path}</code> ${summary}${operation.deprecated && html` <span class="soft">deprecated</span>`}</h3>
${description !== undefined && html`<p>${description}</p>`}
${tool !== undefined && html`<p class="soft">MCP tool <code>${tool}</code></p>`}
${parameters.length > 0 && html`<table>${parameterRows}</table>`}
${body !== undefined && html`<p>Body</p>${fields(body)}`}
${result !== undefined && html`<p>Response</p>${fields(result)}`}
</section>
`
}

function schemaIn(part: JsonSchema | undefined): unknown {
  const [media] = Object.values(members(part?.content))
  return members(media).schema
}

/** The properties of an object, or the type of another schema. */
function fields(schema: unknown): Html {
  const { properties, required } = members(schema)
  const entries = Object.entries(members(properties))
  if (entries.length === 0) return html`<p>${typeName(schema)}</p>`
  const needed = Array.isArray(required) ? required : []
  const rows = entries.map(([name, member]) =>
    row(html`<code>${name}</code>`, typeName(member), needed.includes(name) ? 'required' : '', about(member)),
  )
  return html`<table>${rows}</table>`
}

function about(schema: unknown): string {
  const { description, minimum, maximum, maxLength, default: standard } = members(schema)
  return [
    description,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    standard !== undefined && `default ${JSON.stringify(standard)}`,
  ]
    .filter((part) => typeof part === 'string')
    .join('; ')
}

function typeName(schema: unknown): Content {
  const { $ref, type, anyOf, items, const: only, enum: values } = members(schema)
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1)
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) return values.join(' | ')
  if (Array.isArray(anyOf)) return anyOf.map((each, i) => [i > 0 && ' or ', typeName(each)])
  if (type === 'array') return ['list of ', typeName(items)]
  return Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : 'any JSON'
}

function row(...cells: readonly Content[]): Html {
  return html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>\n`
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}
