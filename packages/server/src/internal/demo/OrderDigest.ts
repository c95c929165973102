/**
 * A workflow on real input: fetches a day's orders, keeps the paid ones, totals them by country and
 * says what kind of day it was.
 */
import type { WorkflowContent } from "@millrace/core/domain/Workflow"
import { edge, node } from "./Drawing.ts"
import { ordersUrl } from "./Orders.ts"

/** From which total on a day is a good one, in euro. */
export const goodDay = 15_000

const fields = [
  {
    name: "orders",
    type: "string",
    default: ordersUrl,
    description: "Where the orders are: a JSON array of { country, status, total, ... }",
  },
]

/** The digest: `{ headline, orders, total, countries: [{ key, count, sums: { total } }] }`. */
export const orderDigest: WorkflowContent = {
  name: "Order digest",
  description: "Fetches a day's orders and sums up the paid ones by country.",
  thumbnailUrl: null,
  nodes: [
    node("request", "request", [0, 0], { fields }),
    node("fetch", "http_request", [1, 0]),
    node("paid", "list", [2, 0], {
      steps: [{ op: "filter", rule: { path: "status", op: "equals", value: "paid" } }],
    }),
    node("countries", "list", [3, 0], {
      steps: [
        { op: "group", by: "country", sum: ["total"] },
        { op: "sort", by: "sums.total", order: "desc" },
      ],
    }),
    node("total", "list", [3, 1], { steps: [{ op: "sum", path: "total" }] }),
    node("is_good_day", "condition", [4, 1], { rule: { op: "greaterOrEqual", value: goodDay } }),
    node("good_day", "transform", [5, 0], { template: "A good day: {{ input }} euro" }),
    node("slow_day", "transform", [5, 1], { template: "A slow day: only {{ input }} euro" }),
    node("parts", "merge", [6, 0]),
    node("digest", "transform", [7, 0], {
      template: {
        headline: "{{ input[0] }} from {{ input[2] }} paid orders",
        total: "{{ input[1] }}",
        orders: "{{ input[2] }}",
        countries: "{{ input[3] }}",
      },
    }),
    node("response", "response", [8, 0]),
  ],
  edges: [
    edge("request.orders", "fetch.url"),
    edge("fetch.body", "paid.items"),
    edge("paid.output", "countries.items"),
    edge("paid.output", "total.items"),
    edge("total.output", "is_good_day.input"),
    edge("is_good_day.true", "good_day.input"),
    edge("is_good_day.false", "slow_day.input"),
    edge("good_day.output", "parts.inputs"),
    edge("slow_day.output", "parts.inputs"),
    edge("total.output", "parts.inputs"),
    edge("paid.count", "parts.inputs"),
    edge("countries.output", "parts.inputs"),
    edge("parts.output", "digest.input"),
    edge("digest.output", "response.input"),
  ],
}
