/**
 * Shows JSON with colours and folding, to read or to type. A module of its own, because it is
 * large: it is loaded when the first value is opened.
 */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { json } from "@codemirror/lang-json"
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  syntaxTree,
} from "@codemirror/language"
import type { Range } from "@codemirror/state"
import { Compartment, EditorState, Prec } from "@codemirror/state"
import type { DecorationSet, ViewUpdate } from "@codemirror/view"
import {
  Decoration,
  drawSelection,
  EditorView,
  keymap,
  lineNumbers,
  ViewPlugin,
} from "@codemirror/view"

const look = EditorView.theme({
  "&": { color: "var(--mr-text)", backgroundColor: "var(--mr-surface)", fontSize: "12px" },
  ".cm-scroller": { fontFamily: "var(--mr-mono)", maxHeight: "60vh", overflow: "auto" },
  ".cm-gutters": {
    color: "var(--mr-muted)",
    backgroundColor: "var(--mr-surface)",
    borderRight: "1px solid var(--mr-border)",
  },
  ".cm-content": { caretColor: "var(--mr-text)" },
  ".cm-cursor": { borderLeftColor: "var(--mr-text)" },
  "&.cm-focused": { outline: "2px solid var(--mr-accent)", outlineOffset: "-2px" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--mr-sunken) !important",
  },
  ".mr-key": { color: "var(--mr-accent)" },
  ".mr-text": { color: "var(--mr-ok)" },
  ".mr-other": { color: "var(--mr-waiting)" },
  ".mr-mistake": { textDecoration: "underline wavy var(--mr-failed)" },
  ".cm-foldPlaceholder": {
    color: "var(--mr-muted)",
    backgroundColor: "var(--mr-sunken)",
    borderColor: "var(--mr-border)",
  },
})

const key = Decoration.mark({ class: "mr-key" })
const texts = Decoration.mark({ class: "mr-text" })
const other = Decoration.mark({ class: "mr-other" })

const mistake = Decoration.mark({ class: "mr-mistake" })

/** Of what the grammar of JSON calls so. */
const marks: Readonly<Record<string, Decoration>> = {
  PropertyName: key,
  String: texts,
  Number: other,
  True: other,
  False: other,
  Null: other,
}

/** Colours what is in view. */
const colouring = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet
    constructor(view: EditorView) {
      this.decorations = this.#marked(view)
    }
    update({ docChanged, startState, state, view, viewportChanged }: ViewUpdate): void {
      const isParsed = syntaxTree(startState) !== syntaxTree(state)
      if (docChanged || viewportChanged || isParsed) this.decorations = this.#marked(view)
    }
    #marked(view: EditorView): DecorationSet {
      const found: Array<Range<Decoration>> = []
      for (const { from, to } of view.visibleRanges) {
        syntaxTree(view.state).iterate({
          from,
          to,
          enter: (node) => {
            const mark = node.type.isError ? mistake : marks[node.name]
            if (mark !== undefined && node.from < node.to)
              found.push(mark.range(node.from, node.to))
          },
        })
      }
      return Decoration.set(found, true)
    }
  },
  { decorations: ({ decorations }) => decorations },
)

/** What to show and how it is called. */
export interface ShownJson {
  readonly text: string
  readonly label: string
  readonly nonce: string | undefined
}

/** What reading and typing have in common. */
const looks = (nonce: string | undefined) => [
  lineNumbers(),
  foldGutter(),
  codeFolding(),
  bracketMatching(),
  drawSelection(),
  json(),
  colouring,
  look,
  EditorView.lineWrapping,
  ...(nonce === undefined ? [] : [EditorView.cspNonce.of(nonce)]),
]

/** Puts the text into an element. The answer takes it away again. */
export const showJson = (
  parent: HTMLElement,
  { label, nonce, text: doc }: ShownJson,
): (() => void) => {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc,
      extensions: [
        looks(nonce),
        keymap.of([...defaultKeymap, ...foldKeymap]),
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({
          "aria-label": label,
          "aria-readonly": "true",
          tabindex: "0",
        }),
      ],
    }),
  })
  return () => view.destroy()
}

/** JSON to type. */
export interface TypedJson extends ShownJson {
  readonly readOnly: boolean
  readonly onText: (text: string) => void
  /** Somebody has typed: the text before and after the caret is this one. */
  readonly onTyped: (text: string, caret: number) => void
  /** True for a key that is none of the text's. */
  readonly onKey: (event: KeyboardEvent) => boolean
  readonly onFocus: () => void
  readonly onBlur: () => void
}

/** JSON that is being typed. */
export interface JsonEditing {
  /** Another text from outside; its own one changes nothing. */
  readonly setText: (text: string) => void
  /** What the text says of itself to those who do not see it. */
  readonly describe: (attributes: Readonly<Record<string, string>>) => void
  readonly caret: () => number
  /** Puts a text in the place of another one, and the caret somewhere. */
  readonly replace: (from: number, to: number, text: string, caret: number) => void
  readonly focus: () => void
  readonly remove: () => void
}

/** Puts JSON into an element, to type. Tab leaves it. */
export const editJson = (parent: HTMLElement, given: TypedJson): JsonEditing => {
  const { label, nonce, onBlur, onFocus, onKey, onText, onTyped, readOnly, text: doc } = given
  const attributes = new Compartment()
  let isOwn = false
  // React takes the focus from what it moves and gives it back in the same task.
  const blur = () => queueMicrotask(() => view.hasFocus || onBlur())
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc,
      extensions: [
        looks(nonce),
        history(),
        Prec.highest(EditorView.domEventHandlers({ blur, focus: onFocus, keydown: onKey })),
        keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap]),
        EditorState.readOnly.of(readOnly),
        attributes.of(EditorView.contentAttributes.of({ "aria-label": label })),
        EditorView.updateListener.of(({ docChanged, state, transactions }) => {
          if (!docChanged || isOwn) return
          const text = state.doc.toString()
          onText(text)
          const isTyped = transactions.some((each) => each.isUserEvent("input"))
          if (isTyped) onTyped(text, state.selection.main.head)
        }),
      ],
    }),
  })
  return {
    setText: (text) => {
      const { doc: shown } = view.state
      if (text.length === shown.length && text === shown.toString()) return
      isOwn = true
      view.dispatch({ changes: { from: 0, to: shown.length, insert: text } })
      isOwn = false
    },
    describe: (all) =>
      view.dispatch({
        effects: attributes.reconfigure(
          EditorView.contentAttributes.of({ "aria-label": label, ...all }),
        ),
      }),
    caret: () => view.state.selection.main.head,
    replace: (from, to, insert, caret) =>
      view.dispatch({ changes: { from, to, insert }, selection: { anchor: caret } }),
    focus: () => view.focus(),
    remove: () => view.destroy(),
  }
}
