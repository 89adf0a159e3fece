import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Assets } from './layout.ts'

export interface Asset {
  readonly path: string
  readonly type: string
  readonly text: string
}

/** The two files that pages load. Their addresses change with their content, so browsers may keep them. */
export function loadAssets(): { readonly paths: Assets; readonly files: ReadonlyMap<string, Asset> } {
  const css = asset('console.css', 'text/css; charset=utf-8')
  const js = asset('console.js', 'text/javascript; charset=utf-8')
  return {
    paths: { css: css.path, js: js.path },
    files: new Map([css, js].map((file) => [file.path, file])),
  }
}

function asset(name: string, type: string): Asset {
  const text = readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8')
  return { path: `/console/${hash('sha256', text).slice(0, 12)}-${name}`, type, text }
}
