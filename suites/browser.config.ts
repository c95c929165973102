// The tests of packages that drive a browser.
import { testsOf } from "../vitest.config.ts"

export default testsOf("browser")
