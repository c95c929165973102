/**
 * `npm run test:pictures` takes a picture of each page of the dashboard, in light, in dark and on a
 * phone, and compares it with the recorded one. `-- --write` records what is different, `-- runs`
 * takes those pictures alone whose names contain `runs`.
 *
 * Only the browser and the fonts of the packages draw what was recorded, so it fails with another
 * browser.
 */
import { buildIfOutdated } from "@millrace/dashboard"
import { join } from "node:path"
import { cache, isOfPackage, launchChromium } from "../../packages/react/test/browser/Chromium.ts"
import { compare, write } from "./Comparison.ts"
import { openScene } from "./Scene.ts"
import type { Shot } from "./Shots.ts"
import { takeShots } from "./Shots.ts"

const folder = join(cache, "pictures")

const take = async (part: string): Promise<ReadonlyArray<Shot>> => {
  await buildIfOutdated()
  const [browser, scene] = await Promise.all([launchChromium(), openScene()])
  try {
    return await takeShots(browser, scene, part)
  } finally {
    await browser.close()
    await scene.close()
  }
}

const main = async ([...args]: ReadonlyArray<string>): Promise<number> => {
  if (!isOfPackage()) {
    console.error(
      "The recorded pictures were drawn by the Chromium of @sparticuz/chromium, on Linux with " +
        "x64: on another system, or with CHROMIUM_PATH, there is nothing to compare them with",
    )
    return 1
  }
  const part = args.find((arg) => !arg.startsWith("--")) ?? ""
  const shots = await take(part)
  const isWhole = part === ""
  const differences = compare(shots, folder, isWhole)
  if (args.includes("--write")) {
    const names = new Set(differences.map((line) => line.split(":")[0]))
    const changed = shots.filter(({ look, name }) => names.has(`${name}-${look}`))
    write(changed, isWhole ? shots : undefined)
  }
  for (const line of differences) console.log(line)
  console.log(`${shots.length} pictures, ${differences.length} of them different`)
  if (differences.length === 0 || args.includes("--write")) return 0
  console.error(`See ${folder}. If they are right, record them: npm run test:pictures -- --write`)
  return 1
}

process.exitCode = await main(process.argv.slice(2))
