/**
 * `npm run pictures` takes the pictures of the README anew, in a real browser, of a server as
 * `npm start` runs it.
 */
import { buildIfOutdated } from "@millrace/dashboard"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DevServer } from "./DevServer.ts"
import { picturesFolder, takePictures, wordsFile } from "./Pictures.ts"
import { launchChromium } from "../../react/test/browser/Chromium.ts"

await buildIfOutdated()
const [browser, server] = await Promise.all([launchChromium(), DevServer.start()])
try {
  const page = await (await browser.newContext({ reducedMotion: "reduce" })).newPage()
  await page.goto(server.link)
  const pictures = await takePictures(page)
  mkdirSync(picturesFolder, { recursive: true })
  for (const { name, png } of pictures) writeFileSync(join(picturesFolder, `${name}.png`), png)
  const words = Object.fromEntries(pictures.map((each) => [each.name, each.words]))
  writeFileSync(wordsFile, `${JSON.stringify(words, undefined, 2)}\n`)
} finally {
  await browser.close()
  await server.end()
}
