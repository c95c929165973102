/**
 * The test of an inbound webhook: a test address, what arrived there, and what would have become of
 * it. While the dialog is open it looks for new requests.
 */
import type { InboundWebhook, WebhookTest } from "@millrace/api/PromiseClient"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { client, sentenceOf, serverUrl } from "../Console.ts"
import { timeText } from "../Words.ts"
import { CopyButton } from "./CopyButton.tsx"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"

const lookMillis = 2_000

type Received = WebhookTest["requests"][number]

const Request = ({ body, headers, method, query, refused, values, at }: Received) => (
  <li>
    <details>
      <summary>
        {timeText(at)}: {method}
        {query === "" ? "" : ` ?${query}`}, {refused ?? "would start a run"}
      </summary>
      {values !== null && (
        <>
          <h4>Values of the run</h4>
          <pre>{JSON.stringify(values, null, 2)}</pre>
        </>
      )}
      <h4>Body</h4>
      <pre>{body ?? "Not kept, because the sender did not show who it is."}</pre>
      <h4>Headers</h4>
      <pre>
        {Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}`)
          .join("\n")}
      </pre>
    </details>
  </li>
)

const Requests = ({ test }: { readonly test: WebhookTest }) => (
  <>
    <h3>What arrived</h3>
    {test.requests.length === 0 ? (
      <p className="quiet">Nothing yet.</p>
    ) : (
      <div className="scroll" tabIndex={0} role="region" aria-label="Requests">
        <ul className="plain">
          {test.requests.map((request, index) => (
            <Request key={`${request.at} ${index}`} {...request} />
          ))}
        </ul>
      </div>
    )}
  </>
)

/** The dialog. */
export const WebhookTestDialog = ({
  item: { id, workflowId },
  onClose,
}: {
  readonly item: InboundWebhook
  readonly onClose: () => void
}) => {
  const queries = useQueryClient()
  const queryKey = ["webhook test", id]
  const { data: test, error: unread } = useQuery({
    queryKey,
    queryFn: () => client.triggers.readTest(workflowId, id),
    refetchInterval: lookMillis,
  })
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: () => client.triggers.beginTest(workflowId, id),
    onSuccess: () => queries.invalidateQueries({ queryKey }),
  })
  const address = data === undefined ? undefined : serverUrl + data.path
  const failure = error ?? unread
  return (
    <Dialog title="Test the webhook" onClose={onClose}>
      <p>
        A test address answers for an hour, also while the webhook is switched off. What is sent
        there is judged as at its address, and starts no run.
      </p>
      {failure !== null && <Notice kind="error">{sentenceOf(failure)}</Notice>}
      {address !== undefined && (
        <>
          <output className="secret">{address}</output>
          <CopyButton text={address} label="Copy the test address" />
        </>
      )}
      {test !== undefined && <Requests test={test} />}
      <footer>
        <button type="button" onClick={onClose}>
          Close
        </button>
        <button type="button" className="primary" disabled={isPending} onClick={() => mutate()}>
          {(test?.expiresAt ?? null) === null ? "Make a test address" : "Make another test address"}
        </button>
      </footer>
    </Dialog>
  )
}
