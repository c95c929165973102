/**
 * Shows JSON with colours and folding. A module of its own, because it is large: it is loaded when
 * the first value is opened.
 */
import { defaultKeymap } from "@codemirror/commands"
import { json } from "@codemirror/lang-json"
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  syntaxTree,
} from "@codemirror/language"
import type { Range } from "@codemirror/state"
import { EditorState } from "@codemirror/state"
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
  ".cm-foldPlaceholder": {
    color: "var(--mr-muted)",
    backgroundColor: "var(--mr-sunken)",
    borderColor: "var(--mr-border)",
  },
})

const key = Decoration.mark({ class: "mr-key" })
const text = Decoration.mark({ class: "mr-text" })
const other = Decoration.mark({ class: "mr-other" })

/** Of what the grammar of JSON calls so. */
const marks: Readonly<Record<string, Decoration>> = {
  PropertyName: key,
  String: text,
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
            const mark = marks[node.name]
            if (mark !== undefined) found.push(mark.range(node.from, node.to))
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
        lineNumbers(),
        foldGutter(),
        codeFolding(),
        bracketMatching(),
        drawSelection(),
        json(),
        colouring,
        look,
        keymap.of([...defaultKeymap, ...foldKeymap]),
        EditorState.readOnly.of(true),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({
          "aria-label": label,
          "aria-readonly": "true",
          tabindex: "0",
        }),
        ...(nonce === undefined ? [] : [EditorView.cspNonce.of(nonce)]),
      ],
    }),
  })
  return () => view.destroy()
}
