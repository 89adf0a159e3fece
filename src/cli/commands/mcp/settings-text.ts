export type JsonValue =
  | string
  | number
  | boolean
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/** A key of an object, or the item of an array with this id. */
export type Step = string | { readonly id: string }

/** Edits one value in the text of a settings file. Both functions throw UnsafeEdit, and return equal text if nothing changes. */
export interface SettingsEditor {
  set(text: string, path: readonly Step[], value: JsonValue): string
  remove(text: string, path: readonly Step[]): string
}

/** The text is not valid, or is written in a way that cannot be edited without a risk for its other settings. */
export class UnsafeEdit extends Error {}
