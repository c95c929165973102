import { createEngine, pglite } from "millrace"

await using engine = await createEngine({ store: pglite("./flows") })
const [signing] = await engine.webhooks.secrets()
console.log(signing?.secret.slice(0, 6)) // whsec_
