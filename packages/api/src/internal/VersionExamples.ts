/**
 * An example of every body of the operations on versions, for the readers of the OpenAPI document.
 */

const note = "Says hello in the language of the customer"

const item = {
  number: 2,
  publishedAt: "2026-01-05T09:30:00.000Z",
  note,
  revision: 7,
  published: true,
}

/** The examples by the identifiers of the operations, about this workflow. */
export const examplesOfVersions = <W extends { id: string; updatedAt: string }>(workflow: W) => {
  const { id: _, updatedAt: _at, ...content } = workflow
  return {
    "workflows.publish": { request: { note }, response: item },
    "workflows.unpublish": { response: workflow },
    "workflows.versions": { response: { items: [item], nextCursor: null } },
    "workflows.version": { response: { ...item, ...content } },
    "workflows.restore": { response: workflow },
    "workflows.difference": {
      response: {
        version: 2,
        with: "draft",
        fields: [],
        nodes: {
          added: [],
          removed: [],
          changed: [{ id: "say", keys: ["data.inputs.value"], affectsRuns: true }],
        },
        edges: { added: [], removed: [], changed: [] },
      },
    },
  }
}
