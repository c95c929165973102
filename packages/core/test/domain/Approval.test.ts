// Approvals: which forms and addresses can be asked with, and which answers fit a form.
import type { Answer, FormField } from "@millrace/core/domain/Approval"
import {
  approvalMessage,
  approvalNodeOf,
  approvalStateOf,
  decisionIn,
  filledIn,
  FormFields,
  isApproverAddress,
  problemOfAnswer,
} from "@millrace/core/domain/Approval"
import {
  approvalFields,
  approverLength,
  decisionCommentLength,
  fieldTextLength,
} from "@millrace/core/domain/Limits"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"

const isForm = (fields: unknown) => Option.isSome(Schema.decodeUnknownOption(FormFields)(fields))

describe("Approval.FormFields", () => {
  const text = { name: "reason", type: "text" }
  const select = { name: "kind", type: "select", options: ["a", "b"] }

  it("takes fields with different names, and options for a select alone", () => {
    assert.isTrue(isForm([]))
    assert.isTrue(isForm([text, { ...select, label: "Kind", required: true }]))
    assert.isFalse(isForm([text, { ...select, name: "reason" }]))
    assert.isFalse(isForm([{ ...text, options: ["a"] }]))
    assert.isFalse(isForm([{ name: "kind", type: "select" }]))
    assert.isFalse(isForm([{ ...select, options: [] }]))
    assert.isFalse(isForm([{ ...text, type: "secret" }]))
    assert.isFalse(isForm([{ ...text, name: "" }]))
  })

  it("says what is wrong with a form", () => {
    const problem = (fields: ReadonlyArray<unknown>) => {
      try {
        Schema.decodeUnknownSync(FormFields)(fields)
        return ""
      } catch (error) {
        return String(error)
      }
    }
    assert.include(problem([text, text]), "expected fields with different names")
    assert.include(
      problem([text, { ...text, name: "x", options: ["a"] }]),
      'field "x": expected options with the type select, and only there',
    )
  })

  it("takes so many fields, and no more", () => {
    const many = Array.from({ length: approvalFields + 1 }, (_, n) => ({ ...text, name: `f${n}` }))
    assert.isTrue(isForm(many.slice(1)))
    assert.isFalse(isForm(many))
  })
})

describe("Approval.problemOfAnswer", () => {
  const form: ReadonlyArray<FormField> = [
    { name: "amount", type: "number", required: true },
    { name: "reason", type: "text" },
    { name: "sure", type: "boolean", required: false },
    { name: "kind", type: "select", options: ["a", "b"] },
  ]
  const problem = (fields: Answer["fields"], more: Partial<Answer> = {}) =>
    problemOfAnswer(form, { outcome: "approved", fields, ...more })

  it("takes values of the types of their fields", () => {
    assert.isUndefined(problem({ amount: 0, reason: "x", sure: false, kind: "b" }))
    assert.isUndefined(problem({ amount: 1 }))
  })

  it("names the field whose value has another type", () => {
    const cases: ReadonlyArray<readonly [string, unknown, string]> = [
      ["amount", "1", "expected a number"],
      ["reason", 1, "expected a text"],
      ["sure", "yes", "expected true or false"],
      ["kind", "c", "expected one of a, b"],
      ["kind", 1, "expected one of a, b"],
      ["reason", "x".repeat(fieldTextLength + 1), `expected at most ${fieldTextLength} characters`],
      ["amount", { of: 1 }, "expected a number"],
    ]
    for (const [name, value, clause] of cases) {
      assert.strictEqual(
        problem({ amount: 1, [name]: value as string }),
        `fields[${name}]: ${clause}`,
      )
    }
    assert.isUndefined(problem({ amount: 1, reason: "x".repeat(fieldTextLength) }))
    assert.strictEqual(problem({ amount: 1, no: 1 }), 'fields: the form has no field "no"')
  })

  it("asks who approves for what is required, and nobody who rejects", () => {
    for (const empty of [undefined, {}, { amount: null }, { amount: "" }]) {
      assert.strictEqual(problem(empty), "fields[amount]: expected a value")
      assert.isUndefined(problem(empty, { outcome: "rejected" }))
    }
    const inherited = problemOfAnswer([{ name: "toString", type: "text", required: true }], {
      outcome: "approved",
    })
    assert.strictEqual(inherited, "fields[toString]: expected a value")
    assert.isUndefined(problemOfAnswer([], { outcome: "approved" }))
    assert.isUndefined(problem({ amount: 1, reason: null, kind: "" }))
  })

  it("bounds the comment", () => {
    const comment = "x".repeat(decisionCommentLength)
    assert.isUndefined(problem({ amount: 1 }, { comment }))
    const clause = `comment: expected at most ${decisionCommentLength} characters`
    assert.strictEqual(problem({ amount: 1 }, { comment: `${comment}x` }), clause)
  })
})

describe("Approval.filledIn", () => {
  it("keeps what is no empty text, and not null", () => {
    const fields = { a: "", b: null, c: 0, d: false, e: "x" }
    assert.deepStrictEqual(filledIn(fields), { c: 0, d: false, e: "x" })
    assert.deepStrictEqual(filledIn(undefined), {})
  })
})

describe("Approval.isApproverAddress", () => {
  it("takes bare addresses of e-mail", () => {
    const long = `${"a".repeat(64)}@${"b".repeat(approverLength - 65)}`
    for (const good of ["ann@example.com", "a+b@x", "jürgen@münchen.de", "o'neil@x.org", long]) {
      assert.isTrue(isApproverAddress(good), good)
    }
    const bad = [
      "",
      "ann",
      "@x.org",
      "ann@",
      "ann@.org",
      "ann@-x.org",
      "ann@x.org ",
      "ann@x org",
      "ann bob@x.org",
      "Ann <ann@x.org>",
      "a@b@c",
      "a,b@x.org",
      "ann@x.org\r\nBcc: eve@x.org",
      `${"a".repeat(65)}@x.org`,
      `${long}b`,
    ]
    for (const text of bad) assert.isFalse(isApproverAddress(text), text)
  })
})

describe("Approval.decisionIn", () => {
  const decision = {
    outcome: "rejected",
    by: "ada",
    via: "session",
    at: "1970-01-01T00:00:00.005Z",
    comment: null,
    fields: {},
  } as const

  it("reads the decision by which a node was left, and nothing else", () => {
    assert.deepStrictEqual(decisionIn({ rejected: decision }), { ...decision, at: 5 })
    assert.strictEqual(decisionIn({ approved: decision })?.by, "ada")
    for (const output of [null, {}, { expired: decision }, { approved: { by: "ada" } }]) {
      assert.isUndefined(decisionIn(output))
    }
  })
})

describe("Approval.approvalStateOf", () => {
  const state = {
    asks: "approval",
    title: "Sure?",
    askedAt: 1,
    expiresAt: null,
    mailAt: null,
    reminders: 0,
    waitsUntil: null,
    approvers: [],
    roles: ["owner"],
    mayDelegate: false,
  } as const

  it("knows what an approval keeps from what other nodes keep", () => {
    assert.strictEqual(approvalStateOf(state), state)
    for (const other of [undefined, null, {}, { ...state, asks: "x" }, { ...state, roles: 1 }]) {
      assert.isUndefined(approvalStateOf(other))
    }
  })
})

describe("Approval.approvalMessage", () => {
  it("is a name that leads back to its node", () => {
    assert.strictEqual(approvalNodeOf(approvalMessage("a:b")), "a:b")
    for (const name of [undefined, "", "ask", "Approval:x", "an approval:x"]) {
      assert.isUndefined(approvalNodeOf(name))
    }
  })
})
