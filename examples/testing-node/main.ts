/**
 * Runs the test of this folder, as `node --test` does.
 */
import { run } from "node:test"

const tests = run({
  files: [`${import.meta.dirname}/Reminder.test.ts`],
  execArgv: ["--conditions=@millrace/source"],
})
tests.on("test:pass", ({ name }) => console.log(`passed: ${name}`))
tests.on("test:fail", ({ details, name }) => console.error(`failed: ${name}`, details.error))
tests.resume()
