/**
 * The keys of the canvas.
 *
 * Guarantees: no key acts while somebody types, nor outside of the canvas. A letter is found by the
 * place of its key where the layout of the keyboard has no Latin letters.
 */

/** What a key asks for. */
export type KeyAction =
  | "palette"
  | "fit"
  | "sheet"
  | "undo"
  | "redo"
  | "duplicate"
  | "all"
  | "remove"
  | "rename"
  | "disable"
  | "frame"

type Pressed = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">

const plain: Readonly<Record<string, KeyAction>> = {
  "/": "palette",
  "?": "sheet",
  f: "fit",
  e: "disable",
  g: "frame",
  delete: "remove",
  backspace: "remove",
  f2: "rename",
}

const withCommand: Readonly<Record<string, KeyAction>> = {
  z: "undo",
  y: "redo",
  d: "duplicate",
  a: "all",
}

/** What a pressed key asks for; nothing for most. */
export const keyActionOf = (event: Pressed): KeyAction | undefined => {
  const { altKey, code, ctrlKey, key, metaKey, shiftKey } = event
  if (altKey) return undefined
  const isForeign = key.length === 1 && key > "\u007f"
  const name = isForeign ? code.replace(/^Key/, "").toLowerCase() : key.toLowerCase()
  if (!ctrlKey && !metaKey) return plain[name]
  if (shiftKey) return name === "z" ? "redo" : undefined
  return withCommand[name]
}

/** How a key is written for this system. */
export const commandKey = (platform: string): string =>
  /mac|iphone|ipad/i.test(platform) ? "⌘" : "Ctrl"

/** True where keys belong to what is being written or chosen. */
export const isTyping = (target: unknown): boolean =>
  target instanceof Element &&
  target.closest("input, textarea, select, dialog, [contenteditable], [role=combobox]") !== null
