/**
 * Names of open editors, in all tabs of a browser. Nothing else of the components is random.
 */

/** A name that no other editor has. */
export const newEditorId = (): string => crypto.getRandomValues(new Uint32Array(2)).join("-")
