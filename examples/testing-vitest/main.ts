/**
 * Runs the tests of this folder with vitest, as `npx vitest run` does.
 */
import { startVitest } from "vitest/node"

const vitest = await startVitest([], { watch: false, reporters: [{}] })
const files = vitest.state.getTestModules()
const tests = files.flatMap((file) => [...file.children.allTests()])
await vitest.close()
for (const each of tests) console.log(`${each.result().state}: ${each.name}`)
