/**
 * Tests of workflows: `import { testEngine } from "millrace/testing"`.
 *
 * Guarantees: works in every test framework, without configuration.
 */
export { fails, gives, hangs } from "./internal/testing/Mock.ts"
export type { Call, Script } from "./internal/testing/Mock.ts"
export { testEngine } from "./internal/testing/TestEngine.ts"
export type {
  BuiltinMock,
  Mock,
  Mocks,
  TestClock,
  TestEngine,
  TestOptions,
} from "./internal/testing/TestEngine.ts"
export type { Received, Receiver, ReceiverAnswer } from "./internal/testing/TestReceivers.ts"
export { picture } from "./internal/testing/Picture.ts"
export type { PictureOptions } from "./internal/testing/Picture.ts"
export { whatIf } from "./internal/testing/WhatIf.ts"
export type { Effect, WhatIf } from "./internal/testing/WhatIf.ts"
