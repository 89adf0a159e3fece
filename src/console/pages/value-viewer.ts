import { z } from 'zod'
import { type Html, html } from '../../util/html.ts'
import { jsonBlock, textBlock } from '../components.ts'
import type { ImageType } from '../visit.ts'

/** A value of a task with its buttons: copy the text that is shown, open it alone, or save it. */
export function valueViewer(id: string, label: string, value: unknown, path: string): Html {
  return html`<div class="viewer" id="${id}"><div class="viewer-tools"><button type="button" class="button small" data-copy-from="#${id} pre" hidden>Copy</button><a class="button small" href="${path}">Raw</a><a class="button small" href="${path}?download=1">Download</a></div>
${typeof value === 'string' ? textBlock(value, label) : jsonBlock(value, label)}
${imagesIn(value).map((_, i) => html`<p><img class="picture" src="${path}?image=${i}" alt="Image ${i + 1} in the ${label.toLowerCase()}" loading="lazy"></p>`)}</div>`
}

const imageShape = z.looseObject({ type: z.literal('image'), data: z.string().max(16 * 1024 * 1024) })
const contentShape = z.looseObject({ content: z.array(z.unknown()).max(1000) })

const MAX_IMAGES = 20

interface Image {
  readonly type: ImageType
  readonly bytes: Buffer
}

/** The images in the result of a tool call. Their type is that of their bytes, whatever the result claims. */
export function imagesIn(value: unknown): readonly Image[] {
  const { success, data } = contentShape.safeParse(value)
  if (!success) return []
  return data.content
    .flatMap((item) => {
      const image = imageShape.safeParse(item)
      if (!image.success) return []
      const bytes = Buffer.from(image.data.data, 'base64')
      const type = imageType(bytes)
      return type === undefined ? [] : [{ type, bytes }]
    })
    .slice(0, MAX_IMAGES)
}

/** Formats that browsers only draw. SVG is none of them, because it can contain scripts. */
const SIGNATURES: readonly (readonly [hex: string, at: number, type: ImageType])[] = [
  ['89504e470d0a1a0a', 0, 'image/png'],
  ['ffd8ff', 0, 'image/jpeg'],
  ['474946383761', 0, 'image/gif'],
  ['474946383961', 0, 'image/gif'],
  ['57454250', 8, 'image/webp'],
]

function imageType(bytes: Buffer): ImageType | undefined {
  const found = SIGNATURES.find(
    ([hex, at]) => bytes.subarray(at, at + hex.length / 2).toString('hex') === hex,
  )
  return found?.[2]
}
