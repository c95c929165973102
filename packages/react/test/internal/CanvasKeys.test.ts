/**
 * What the keys of the canvas ask for.
 */
import { describe, expect, it } from "vitest"
import { keyActionOf } from "../../src/internal/CanvasKeys.ts"

const press = (key: string, held: object = {}, code = "") =>
  keyActionOf({
    key,
    code,
    ctrlKey: false,
    metaKey: false,
    shiftKey: false,
    altKey: false,
    ...held,
  })

describe("keyActionOf", () => {
  it("knows the keys of the sheet, with Ctrl and with Command", () => {
    expect(press("/")).toBe("palette")
    expect(press("?", { shiftKey: true })).toBe("sheet")
    expect(press("F")).toBe("fit")
    for (const held of [{ ctrlKey: true }, { metaKey: true }]) {
      expect(press("z", held)).toBe("undo")
      expect(press("Z", { ...held, shiftKey: true })).toBe("redo")
      expect(press("y", held)).toBe("redo")
      expect(press("d", held)).toBe("duplicate")
      expect(press("a", held)).toBe("all")
    }
  })

  it("finds letters on keyboards without Latin ones", () => {
    expect(press("я", { ctrlKey: true }, "KeyZ")).toBe("undo")
  })

  it("leaves the browser what is the browser's", () => {
    expect(press("f", { ctrlKey: true })).toBeUndefined()
    expect(press("D", { ctrlKey: true, shiftKey: true })).toBeUndefined()
    expect(press("a", { altKey: true, ctrlKey: true })).toBeUndefined()
    expect(press("x")).toBeUndefined()
  })
})
