import { expect, it } from 'vitest'
import { ERRORS } from '../../src/core/errors.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { docsPage } from '../../src/http/openapi/docs-page.ts'
import { openApi } from '../../src/http/openapi/openapi.ts'
import { ENDPOINTS } from '../../src/http/routes.ts'
import { VERSION } from '../../src/util/version.ts'
import { describeGates } from '../support/gates.ts'
import { members, servers } from './support.ts'

const document = openApi(OPERATIONS, ENDPOINTS)

/** Every object in the document. */
function* objects(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield members(value)
  for (const member of Object.values(value)) yield* objects(member)
}

function resolve(pointer: string): unknown {
  return pointer
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => members(value)[name], document)
}

it('the document matches its pin', async () => {
  const pinned = JSON.parse(JSON.stringify(document))
  pinned.info.version = 'VERSION'
  await expect(`${JSON.stringify(pinned, null, 2)}\n`).toMatchFileSnapshot('../pins/openapi.json')
})

it('the document contains every operation with its method and path', () => {
  for (const { name, rest } of OPERATIONS) {
    const operation = document.paths[rest.path]?.[rest.method.toLowerCase()]
    expect(operation?.operationId).toBe(name)
    expect(operation?.['x-mcp-tool']).toBe(`asyncgate_${name}`)
  }
})

it('the ids of operations are unique, and their tags known', () => {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const ids = operations.map((operation) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  const tags = document.tags.map(({ name }) => name)
  for (const operation of operations) for (const tag of operation.tags) expect(tags).toContain(tag)
})

it('every reference resolves', () => {
  let count = 0
  for (const { $ref } of objects(document)) {
    if (typeof $ref !== 'string') continue
    count++
    expect(resolve($ref), $ref).toBeTypeOf('object')
  }
  expect(count).toBeGreaterThan(100)
})

it('every parameter of a path is declared, and no other', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    for (const { parameters = [] } of Object.values(methods)) {
      const declared = parameters.filter((parameter) => parameter.in === 'path')
      expect(declared.map((parameter) => parameter.name)).toEqual(inPath)
      for (const parameter of declared) expect(parameter.required).toBe(true)
    }
  }
})

it('every response has a schema, and every error its codes', () => {
  for (const methods of Object.values(document.paths)) {
    for (const { responses } of Object.values(methods)) {
      for (const [status, response] of Object.entries(responses)) {
        if (status === '204') continue
        expect('content' in response || '$ref' in response).toBe(true)
      }
    }
  }
  const codes = Object.values(document.components.responses).flatMap((response) =>
    [...objects(response)].flatMap(({ enum: values }) => (Array.isArray(values) ? values : [])),
  )
  expect(codes.toSorted()).toEqual(Object.keys(ERRORS).toSorted())
})

it('the documentation page lists every operation and loads no resources', () => {
  const { html, policy } = docsPage(document)
  for (const { name, rest } of OPERATIONS) {
    expect(html).toContain(`id="${name}"`)
    expect(html).toContain(rest.path)
  }
  expect(html).not.toMatch(/<script|<link|<img|<iframe|src=|@import|url\(/)
  expect(html.match(/(?:href|src)="(?!#|\/openapi\.json)/)).toBeNull()
  expect(policy).toContain("default-src 'none'")
})

describeGates(
  'the served document',
  (open) => {
    it('the server serves the document and the page', async () => {
      const { get } = await servers(open)()
      const answer = await get('/openapi.json')
      expect(answer.headers['content-type']).toBe('application/json')
      expect(answer.body).toEqual(JSON.parse(JSON.stringify(document)))
      expect(members(answer.body.info).version).toBe(VERSION)
      const page = await get('/docs')
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/)
    })

    it('every path of the document responds, and other methods are refused', async () => {
      const { send } = await servers(open)()
      for (const [path, methods] of Object.entries(document.paths)) {
        const concrete = path.replace(/\{\w+\}/g, 'x')
        for (const method of Object.keys(methods)) {
          if (path === '/v1/events') continue
          const answer = await send(method.toUpperCase(), concrete, method === 'post' ? {} : undefined)
          expect(String(answer.body.code), `${method} ${path}`).not.toMatch(
            /^(NOT_FOUND|METHOD_NOT_ALLOWED)$/,
          )
        }
        expect((await send('DELETE', concrete)).status, path).toBe(405)
      }
    })
  },
  ['sqlite'],
)
