/**
 * Webhooks that were sent: how far each one is, its attempts, and sending again.
 */
import type { DeliveryItem } from "@millrace/api/PromiseClient"
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Link, useSearchParams } from "wouter"
import { client, queries, sentenceOf, useMay, useSession } from "../Console.ts"
import { CopyButton } from "../parts/CopyButton.tsx"
import { Dialog } from "../parts/Dialog.tsx"
import { Listed } from "../parts/Listed.tsx"
import { Notice } from "../parts/Notice.tsx"
import { Page } from "../parts/Page.tsx"
import { Status } from "../parts/Status.tsx"
import { TestEvent } from "../parts/TestEvent.tsx"
import { timeText, timeZone } from "../Words.ts"

const states = ["PENDING", "DELIVERED", "FAILED"] as const

const refresh = () => queries.invalidateQueries({ queryKey: ["deliveries"] })

const Attempts = ({ id }: { readonly id: string }) => {
  const { data, error } = useQuery({
    queryKey: ["deliveries", "one", id],
    queryFn: () => client.deliveries.get(id),
  })
  if (error !== null) return <Notice kind="error">{sentenceOf(error)}</Notice>
  if (data === undefined) return <p className="quiet">Loading</p>
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col">Attempt</th>
            <th scope="col">At ({timeZone})</th>
            <th scope="col">Answer</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {data.attemptLog.map((attempt) => (
            <tr key={attempt.number}>
              <td>{attempt.number}</td>
              <td>{timeText(attempt.at)}</td>
              <td>
                {attempt.status ?? ""} {attempt.error ?? ""}
                {attempt.answer !== null && <div className="clamp quiet">{attempt.answer}</div>}
              </td>
              <td>{attempt.durationMillis === null ? "" : `${attempt.durationMillis} ms`}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>Body, as signed and sent</h3>
      <pre tabIndex={0}>{data.body}</pre>
      <CopyButton text={data.body} label="Copy the body" />
    </>
  )
}

const Detail = ({
  delivery,
  onClose,
}: {
  readonly delivery: DeliveryItem
  readonly onClose: () => void
}) => {
  const mayResend = useMay("editor")
  const { error, isPending, mutate } = useMutation({
    mutationFn: () => client.deliveries.redeliver(delivery.id),
    onSuccess: refresh,
  })
  return (
    <Dialog title={`Delivery of ${delivery.type}`} onClose={onClose}>
      <p className="clamp">
        <Status of={delivery.state} /> to {delivery.url}
      </p>
      <Attempts id={delivery.id} />
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      <footer>
        {delivery.runId !== null && <Link href={`/runs/${delivery.runId}`}>The run</Link>}
        {mayResend && (
          <button type="button" className="primary" disabled={isPending} onClick={() => mutate()}>
            Send again
          </button>
        )}
      </footer>
    </Dialog>
  )
}

const Rows = ({
  items,
  onOpen,
}: {
  readonly items: ReadonlyArray<DeliveryItem>
  readonly onOpen: (delivery: DeliveryItem) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Deliveries">
    <table>
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Event</th>
          <th scope="col">Address</th>
          <th scope="col">Attempts</th>
          <th scope="col">Created ({timeZone})</th>
        </tr>
      </thead>
      <tbody>
        {items.map((delivery) => (
          <tr key={delivery.id}>
            <td>
              <Status of={delivery.state} />
            </td>
            <td>
              <button type="button" className="link" onClick={() => onOpen(delivery)}>
                {delivery.type}
              </button>
            </td>
            <td>
              <div className="clamp">{delivery.url}</div>
            </td>
            <td>{delivery.attempts}</td>
            <td>{timeText(delivery.createdAt)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** The deliveries of the account. */
export const Deliveries = () => {
  const [params, setParams] = useSearchParams()
  const state = states.find((each) => each === params.get("state"))
  const mayResend = useMay("editor")
  const [opened, setOpened] = useState<DeliveryItem>()
  const query = useInfiniteQuery({
    queryKey: ["deliveries", state],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      client.deliveries.listAll({
        ...(state === undefined ? {} : { state }),
        ...(cursor === undefined ? {} : { cursor }),
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  const again = useMutation({
    mutationFn: () => client.deliveries.redeliverFailed(),
    onSuccess: refresh,
  })
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  const [isTesting, setIsTesting] = useState(false)
  const seesAll = useSession().data?.workflows === null
  const actions = mayResend && (
    <>
      {seesAll && (
        <button type="button" onClick={() => setIsTesting(true)}>
          Send a test event
        </button>
      )}
      <button type="button" disabled={again.isPending} onClick={() => again.mutate()}>
        Send failed ones again
      </button>
    </>
  )
  return (
    <Page title="Deliveries" actions={actions}>
      <label className="field narrow">
        State
        <select
          value={state ?? ""}
          onChange={({ target }) => setParams(target.value === "" ? {} : { state: target.value })}
        >
          <option value="">Any</option>
          {states.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      {again.error !== null && <Notice kind="error">{sentenceOf(again.error)}</Notice>}
      <Listed
        query={query}
        count={items.length}
        empty="No webhooks were sent. A start with a webhook sends the events of its run."
      >
        <Rows items={items} onOpen={setOpened} />
      </Listed>
      {isTesting && <TestEvent onClose={() => setIsTesting(false)} />}
      {opened !== undefined && <Detail delivery={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  )
}
