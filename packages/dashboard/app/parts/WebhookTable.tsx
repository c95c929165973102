/**
 * The inbound webhooks of a workflow. An address is shown once, when it is made.
 */
import type { InboundWebhook } from "@millrace/api/PromiseClient"
import { useState } from "react"
import { client } from "../Console.ts"
import { timeText } from "../Words.ts"
import { Confirm } from "./Confirm.tsx"
import { RemoveTrigger, TriggerActions, TriggerRuns } from "./TriggerCells.tsx"
import { TriggerSwitch } from "./TriggerSwitch.tsx"
import { WebhookForm } from "./WebhookForm.tsx"
import { WebhookTestDialog } from "./WebhookTestDialog.tsx"

/** What a request has to show, and by which secret. */
const checkText = ({ verify }: InboundWebhook): string => {
  switch (verify.type) {
    case "none":
      return "Nothing"
    case "bearer":
      return `Bearer token, ${verify.secret}`
    case "hmac":
      return `HMAC in ${verify.header}, ${verify.secret}`
    case "standard":
      return `Standard Webhooks, ${verify.secret}`
  }
}

const respondTexts = { at_once: "At once", output: "With the output" } as const

const words = { edit: "Edit", test: "Test", readdress: "New address", remove: "Remove" } as const
type Asked = keyof typeof words

const Row = ({
  item,
  onAsk,
  readOnly,
}: {
  readonly item: InboundWebhook
  readonly readOnly: boolean
  readonly onAsk: (what: Asked) => void
}) => {
  const made = timeText(item.createdAt)
  const what = `webhook of ${made}`
  return (
    <tr>
      <td>
        <TriggerSwitch item={item} what={what} readOnly={readOnly} />
      </td>
      <td>{made}</td>
      <td>{item.methods.join(", ")}</td>
      <td>
        {checkText(item)}
        {item.networks !== null && <div className="quiet">from {item.networks.join(", ")}</div>}
      </td>
      <td>{respondTexts[item.respond]}</td>
      <TriggerActions words={readOnly ? {} : words} what={what} onAsk={onAsk}>
        <TriggerRuns id={item.id} what={what} />
      </TriggerActions>
    </tr>
  )
}

const Rows = ({
  items,
  onAsk,
  readOnly,
}: {
  readonly items: ReadonlyArray<InboundWebhook>
  readonly readOnly: boolean
  readonly onAsk: (what: Asked, item: InboundWebhook) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Webhooks">
    <table>
      <thead>
        <tr>
          <th scope="col">On</th>
          <th scope="col">Made</th>
          <th scope="col">Methods</th>
          <th scope="col">A request shows</th>
          <th scope="col">Answers</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <Row key={item.id} item={item} readOnly={readOnly} onAsk={(what) => onAsk(what, item)} />
        ))}
      </tbody>
    </table>
  </div>
)

/** The webhooks, and what can be done with them. `onAddress` is given the path of a new address. */
export const WebhookTable = ({
  id,
  items,
  onAddress,
  readOnly,
}: {
  readonly id: string
  readonly items: ReadonlyArray<InboundWebhook>
  readonly onAddress: (path: string) => void
  readonly readOnly: boolean
}) => {
  const [asked, setAsked] = useState<{ readonly what: Asked; readonly item: InboundWebhook }>()
  const close = () => setAsked(undefined)
  return (
    <>
      <h2>Webhooks</h2>
      <Rows items={items} readOnly={readOnly} onAsk={(what, item) => setAsked({ what, item })} />
      {asked?.what === "edit" && (
        <WebhookForm workflowId={id} known={asked.item} onMade={onAddress} onClose={close} />
      )}
      {asked?.what === "test" && <WebhookTestDialog item={asked.item} onClose={close} />}
      {asked?.what === "readdress" && (
        <Confirm
          title="Make a new address?"
          action="Make a new address"
          act={async () => onAddress((await client.triggers.readdress(id, asked.item.id)).path)}
          onClose={close}
        >
          <p>The old address is nothing any more: who sends there gets 404.</p>
        </Confirm>
      )}
      {asked?.what === "remove" && (
        <RemoveTrigger what="webhook" item={asked.item} onClose={close}>
          Its address is nothing any more. Its runs stay.
        </RemoveTrigger>
      )}
    </>
  )
}
