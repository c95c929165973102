/**
 * The script of the page on which a person decides with a link.
 *
 * Guarantees: the token is read from behind the `#` and sent in bodies only, so no log of a server
 * has it. Nothing is decided but by a press of a button. What comes from outside is set as text,
 * never as markup. Leaves out: the checks, which the server makes.
 */

/** The script, for browsers. */
export const approvalScript = `"use strict"
const by = (id) => document.getElementById(id)
const tokenOf = (text) => {
  try { return decodeURIComponent(text) } catch { return "" }
}
const token = tokenOf(location.hash.slice(1))
// By field. Controls have no names: a form takes names such as elements for its own properties.
const controls = new Map()

const say = (text) => {
  by("message").textContent = text
  by("message").hidden = false
}

const close = (text) => {
  by("question").hidden = true
  by("delegation").hidden = true
  say(text)
}

const send = async (path, body) => {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token, ...body }),
    credentials: "omit",
    cache: "no-store",
    referrerPolicy: "no-referrer",
  })
  const text = await response.text()
  let value = {}
  try { value = JSON.parse(text) } catch {}
  return { status: response.status, value }
}

const isOver = (status) => status === 404 || status === 409

const element = (name, attributes) => Object.assign(document.createElement(name), attributes)

const controlOf = ({ options = [], required = false, type }) => {
  if (type === "boolean") return element("input", { type: "checkbox" })
  if (type === "number") return element("input", { type: "number", step: "any", required })
  if (type === "text") return element("input", { type: "text", required, maxLength: 2000 })
  const select = element("select", { required })
  select.append(element("option", { value: "", textContent: "" }))
  for (const each of options) select.append(element("option", { value: each, textContent: each }))
  return select
}

const show = (found) => {
  document.title = found.title
  by("title").textContent = found.title
  by("description").textContent = found.description
  by("description").hidden = found.description === ""
  for (const field of found.fields) {
    const isCheck = field.type === "boolean"
    const label = element("label", { className: isCheck ? "check" : "" })
    const text = (field.label ?? field.name) + (field.required && !isCheck ? " (required)" : "")
    const control = controlOf(field)
    controls.set(field, control)
    label.append(...(isCheck ? [control, text] : [text, control]))
    by("fields").append(label)
  }
  const end = found.expiresAt
  const until = end === null ? "" : " until " + new Date(end).toLocaleString()
  by("who").textContent = "Asked: " + found.address + until + "."
  by("message").hidden = true
  by("question").hidden = false
  by("delegation").hidden = !found.mayDelegate
}

const valueOf = ({ type }, control) => {
  if (type === "boolean") return control.checked
  if (control.value === "") return null
  return type === "number" ? Number(control.value) : control.value
}

const busy = (isBusy) => {
  for (const each of document.querySelectorAll("button")) each.disabled = isBusy
}

const attempt = async (path, body, done) => {
  busy(true)
  try {
    const { status, value } = await send(path, body)
    if (status === 200) close(done(value))
    else if (isOver(status)) close(value.error ?? "This link is not valid.")
    else say(value.error ?? "That did not work. Try again.")
  } catch {
    say("The server cannot be reached. Nothing was decided; try again.")
  } finally {
    busy(false)
  }
}

by("question").addEventListener("submit", (event) => {
  event.preventDefault()
  const outcome = event.submitter?.value
  if (outcome !== "approved" && outcome !== "rejected") return
  const fields = Object.fromEntries(
    [...controls].map(([field, control]) => [field.name, valueOf(field, control)]),
  )
  attempt("decide", { outcome, comment: by("comment").value, fields }, (decision) =>
    "Done: " + decision.outcome + ". You can close this page.")
})

by("delegation").addEventListener("submit", (event) => {
  event.preventDefault()
  const to = by("to").value
  attempt("delegate", { to }, () => "Passed on to " + to + ". Your link has ended.")
})

const read = async () => {
  if (token === "") return close("This link is not complete: open it as it stands in the mail.")
  try {
    const { status, value } = await send("read", {})
    if (status === 200) show(value)
    else close(value.error ?? "That did not work. Try again.")
  } catch {
    close("The server cannot be reached; try again.")
  }
}
read()
`
