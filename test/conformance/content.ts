import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'

export const text = (text: string): ContentBlock => ({ type: 'text', text })

export const says = (...lines: string[]): CallToolResult => ({ content: lines.map(text) })

/** One red pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

/** A WAV file without samples. */
export const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

export const image: ContentBlock = { type: 'image', data: PNG, mimeType: 'image/png' }
export const audio: ContentBlock = { type: 'audio', data: WAV, mimeType: 'audio/wav' }

export const resource = (uri: string, mimeType: string, text: string): ContentBlock => ({
  type: 'resource',
  resource: { uri, mimeType, text },
})
