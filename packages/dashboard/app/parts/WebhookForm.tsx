/**
 * An inbound webhook of a workflow, to make or to change.
 *
 * Leaves out: the address, which only the answer to making it has.
 */
import type { InboundWebhook, NewInboundWebhook } from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, useMay } from "../Console.ts"
import type { Texts } from "./TextFields.tsx"
import { Choice, Line, Lines } from "./TextFields.tsx"
import { TriggerForm } from "./TriggerForm.tsx"
import { receiverOf, receiverTextsOf, TriggerReceiver } from "./TriggerReceiver.tsx"
import { TriggerVersion, versionOf, versionTextOf } from "./TriggerVersion.tsx"

type Check = InboundWebhook["verify"]
type Method = InboundWebhook["methods"][number]

const allMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const satisfies Array<Method>

const textsOf = (known: InboundWebhook | undefined) => {
  const verify: Check = known?.verify ?? { type: "none" }
  const hmac = verify.type === "hmac" ? verify : undefined
  return {
    methods: (known?.methods ?? ["POST"]).join(" "),
    check: verify.type as string,
    secret: verify.type === "none" ? "" : verify.secret,
    header: hmac?.header ?? "",
    algorithm: (hmac?.algorithm ?? "sha256") as string,
    encoding: (hmac?.encoding ?? "hex") as string,
    prefix: hmac?.prefix ?? "",
    timestampHeader: hmac?.timestampHeader ?? "",
    signed: hmac?.signed ?? "",
    toleranceSeconds: String(
      (verify.type === "hmac" || verify.type === "standard" ? verify.toleranceSeconds : null) ?? "",
    ),
    networks: (known?.networks ?? []).join(", "),
    respond: (known?.respond ?? "at_once") as string,
    into: known === undefined || known.into === null ? "" : JSON.stringify(known.into),
    dedupeHeader: known?.dedupeHeader ?? "",
    dedupeBy: known?.dedupeBy ?? "",
    values: JSON.stringify(known?.values ?? {}),
    version: versionTextOf(known),
    ...receiverTextsOf(known),
  }
}
type WebhookTexts = ReturnType<typeof textsOf>

/** The names whose texts are not empty, with them. */
const given = (texts: WebhookTexts, ...names: ReadonlyArray<keyof WebhookTexts>) =>
  Object.fromEntries(names.filter((name) => texts[name] !== "").map((name) => [name, texts[name]]))

const checkOf = (texts: WebhookTexts): Check => {
  const { check: type, toleranceSeconds } = texts
  const secret = texts.secret.trim()
  const tolerance = toleranceSeconds === "" ? {} : { toleranceSeconds: Number(toleranceSeconds) }
  switch (type) {
    case "bearer":
      return { type, secret }
    case "standard":
      return { type, secret, ...tolerance }
    case "hmac": {
      const header = texts.header.trim().toLowerCase()
      const { timestampHeader } = texts
      const more = given(texts, "algorithm", "encoding", "prefix", "timestampHeader", "signed")
      return { type, secret, header, ...more, ...(timestampHeader === "" ? {} : tolerance) }
    }
    default:
      return { type: "none" }
  }
}

/** What the server is asked for. Throws if something that should be JSON is not. */
const bodyOf = (texts: WebhookTexts, known: InboundWebhook | undefined): NewInboundWebhook => {
  const networks = texts.networks.split(/[\s,]+/).filter(Boolean)
  const dedupeHeader = texts.dedupeHeader.trim().toLowerCase()
  return {
    type: "webhook",
    methods: texts.methods.split(" ").filter(Boolean) as Array<Method>,
    verify: checkOf(texts),
    networks: networks.length === 0 ? null : networks,
    respond: texts.respond as InboundWebhook["respond"],
    into: texts.into.trim() === "" ? null : (JSON.parse(texts.into) as InboundWebhook["into"]),
    dedupeHeader: dedupeHeader === "" ? null : dedupeHeader,
    dedupeBy: texts.dedupeBy.trim() === "" ? null : texts.dedupeBy,
    values: JSON.parse(texts.values) as InboundWebhook["values"],
    version: versionOf(texts.version),
    ...receiverOf<NewInboundWebhook>(texts, known),
  }
}

type Given = Texts<keyof WebhookTexts>

const Methods = ({ set, texts }: Given) => {
  const chosen = texts.methods.split(" ")
  return (
    <fieldset>
      <legend>Methods that it answers</legend>
      {allMethods.map((method) => (
        <label key={method} className="check">
          <input
            type="checkbox"
            checked={chosen.includes(method)}
            onChange={({ target: { checked } }) =>
              set(
                "methods",
                allMethods
                  .filter((each) => (each === method ? checked : chosen.includes(each)))
                  .join(" "),
              )
            }
          />
          {method}
        </label>
      ))}
    </fieldset>
  )
}

const Hmac = (all: Given) => (
  <>
    <Line {...all} name="header" label="Header with the signature" required />
    <Line {...all} name="prefix" label="What stands before the signature" placeholder="sha256=" />
    <details>
      <summary>Algorithm, and a time that is signed</summary>
      <Choice {...all} name="algorithm" label="Algorithm">
        <option value="sha256">SHA-256</option>
        <option value="sha512">SHA-512</option>
        <option value="sha1">SHA-1</option>
      </Choice>
      <Choice {...all} name="encoding" label="The signature is in">
        <option value="hex">Hexadecimal</option>
        <option value="base64">Base64</option>
      </Choice>
      <Line {...all} name="timestampHeader" label="Header with the time of signing" />
      <Line {...all} name="signed" label="What is signed" placeholder="{timestamp}.{body}" />
    </details>
  </>
)

/** What a sender has to show. An owner is offered the names of the secrets. */
const Sender = (all: Given) => {
  const { check } = all.texts
  const secrets = useQuery({
    queryKey: ["secrets"],
    queryFn: () => client.secrets.list(),
    enabled: useMay("owner"),
  })
  const hasTime = check === "standard" || (check === "hmac" && all.texts.timestampHeader !== "")
  return (
    <>
      <Choice {...all} name="check" label="A request shows that it comes from its sender by">
        <option value="none">Nothing: who knows the address may send</option>
        <option value="bearer">A secret as bearer token</option>
        <option value="hmac">A signature of its body (HMAC)</option>
        <option value="standard">The headers of Standard Webhooks</option>
      </Choice>
      {check !== "none" && (
        <>
          <Line {...all} name="secret" label="Name of the secret" required list="secret-names" />
          <datalist id="secret-names">
            {secrets.data?.map(({ name }) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
      {check === "hmac" && <Hmac {...all} />}
      {hasTime && (
        <Line
          {...all}
          name="toleranceSeconds"
          label="Seconds by which the time may differ"
          type="number"
          min={1}
          placeholder="300"
        />
      )}
    </>
  )
}

const Fields = ({ known, ...all }: Given & { readonly known: InboundWebhook | undefined }) => (
  <>
    <Sender {...all} />
    <Choice {...all} name="respond" label="It answers">
      <option value="at_once">At once, with the id of the run</option>
      <option value="output">With the output, if the run ends within 30 seconds</option>
    </Choice>
    <Lines
      {...all}
      name="into"
      label="Where the value of each field stands, as JSON; empty: fields of the body"
      placeholder='{ "event": "headers.x-github-event", "order": "body.order.id" }'
    />
    <details>
      <summary>Methods, copies, networks and fixed values</summary>
      <Methods {...all} />
      <Line
        {...all}
        name="dedupeHeader"
        label="Header that names a message: copies of it start no second run"
        placeholder={all.texts.check === "standard" ? "webhook-id" : ""}
      />
      <Line
        {...all}
        name="dedupeBy"
        label="Or a text with places of the request that names a message"
        placeholder="{{ body.order.id }}"
      />
      <Line
        {...all}
        name="networks"
        label="Networks from which requests may come; empty: all"
        placeholder="192.0.2.0/24, 2001:db8::/32"
      />
      <Lines {...all} name="values" label="Values of its runs, as JSON" />
    </details>
    <TriggerReceiver {...all} known={known} />
  </>
)

/** The form, of a new webhook or of one that is there. */
export const WebhookForm = ({
  known,
  onClose,
  onMade,
  workflowId,
}: {
  readonly workflowId: string
  readonly known?: InboundWebhook
  /** Is given the path of a new address, below that of the server. */
  readonly onMade: (path: string) => void
  readonly onClose: () => void
}) => {
  const [texts, setTexts] = useState(() => textsOf(known))
  const set = (name: keyof WebhookTexts, text: string) => setTexts({ ...texts, [name]: text })
  const save = async (body: NewInboundWebhook) => {
    if (known === undefined) return onMade((await client.triggers.create(workflowId, body)).path)
    const { type: _, ...change } = body
    await client.triggers.update(workflowId, known.id, change)
  }
  const read = (): NewInboundWebhook => {
    const { dedupeHeader = null, ...body } = bodyOf(texts, known)
    // Where nothing is typed for a new one, the server decides.
    return known === undefined && dedupeHeader === null ? body : { ...body, dedupeHeader }
  }
  return (
    <TriggerForm
      title={known === undefined ? "New webhook" : "Webhook"}
      workflowId={workflowId}
      read={read}
      notJson={'The places or the values are not JSON, such as { "n": "body.n" }.'}
      save={save}
      onClose={onClose}
    >
      <Fields texts={texts} set={set} known={known} />
      <TriggerVersion texts={texts} set={set} workflowId={workflowId} />
    </TriggerForm>
  )
}
