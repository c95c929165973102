/**
 * Which version of its type a node has in the editor, and which one new nodes get.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { describe, expect, it } from "vitest"
import { layoutOf } from "../../src/model/CanvasLayout.ts"
import { portsIn } from "../../src/model/editing/Connecting.ts"
import { labelOf } from "../../src/model/editing/internal/NodeInputs.ts"
import { dataOfNew, offeredTypes, typeOf } from "../../src/model/internal/NodeVersions.ts"

const version = (key: string, number: number, more: Partial<NodeTypeItem> = {}): NodeTypeItem => ({
  key,
  version: number,
  deprecated: null,
  name: `${key} ${number}`,
  description: "",
  category: "data",
  icon: null,
  docs: null,
  origin: "application",
  modes: [],
  inputPorts: [{ name: `in${number}`, required: false, multiple: false, schema: {} }],
  outputPorts: [],
  effects: "writes",
  example: null,
  creditEstimate: 0,
  creditsByMode: {},
  ...more,
})

const types = [
  version("pay", 1),
  version("pay", 2),
  version("pay", 3, { deprecated: "Use version 2." }),
  version("mail", 4),
  version("fax", 1, { deprecated: "" }),
]

const node = (type: string, data?: { readonly version?: number | string }) => ({
  id: "a",
  type,
  position: { x: 0, y: 0 },
  ...(data === undefined ? {} : { data }),
})

describe("The type of a node", () => {
  it.each([
    [undefined, "pay 1"],
    [{}, "pay 1"],
    [{ version: 2 }, "pay 2"],
    [{ version: 3 }, "pay 3"],
    [{ version: 9 }, "pay 1"],
    [{ version: "2" }, "pay 1"],
  ])("of %j is in the version that it names, and else in the oldest", (data, name) => {
    const drawn = node("pay", data)
    expect(typeOf(types, drawn)?.name).toBe(name)
    expect(labelOf(drawn, types)).toBe(name)
    const [box] = layoutOf({ nodes: [drawn], edges: [] }, types).boxes
    expect(box!.typeName).toBe(name)
    const document = { name: "W", nodes: [drawn], edges: [], settings: {} }
    const port = portsIn(document as never, types)("a")?.inputPorts[0]?.name
    expect(port).toBe(`in${name.at(-1)}`)
  })

  it("is none where the key is unknown", () => {
    expect(typeOf(types, node("none", { version: 1 }))).toBeUndefined()
  })
})

describe("New nodes", () => {
  it("are offered of the latest version of each type that is in use", () => {
    expect(offeredTypes(types).map(({ name }) => name)).toEqual(["pay 2", "mail 4"])
  })

  it("name their version where there are several", () => {
    expect(dataOfNew(types, types[1]!)).toEqual({ version: 2 })
    expect(dataOfNew(types, types[3]!)).toEqual({})
  })
})
