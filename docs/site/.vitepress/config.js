// How VitePress shows the pages that `scripts/docs` has staged in `dist/pages`. Nothing is fetched
// from elsewhere, neither by the build nor by a reader's browser: search and fonts are local.
import { readFileSync } from "node:fs"

// Node reads this module itself; VitePress would bundle it by the settings of its package.
const pages = new URL("../../../packages/core/test/Markdown.ts", import.meta.url)
const { anchorOf } = await import(pages.href)
const sidebar = JSON.parse(readFileSync(new URL("../dist/sidebar.json", import.meta.url), "utf8"))

export default {
  title: "Millrace",
  description: "An embeddable workflow engine for Node",
  lang: "en",
  srcDir: "dist/pages",
  outDir: "dist/site",
  cacheDir: "dist/cache",
  markdown: {
    // A page is plain Markdown: what looks like a tag, an attribute or a template is text.
    html: false,
    linkify: false,
    attrs: { disable: true },
    anchor: { slugify: anchorOf },
    config: ({ renderer, utils }) => {
      const code = renderer.rules.code_inline
      renderer.rules.code_inline = (tokens, index, ...others) => {
        tokens[index].attrSet("v-pre", "")
        return code(tokens, index, ...others)
      }
      const fence = renderer.rules.fence
      renderer.rules.fence = (tokens, index, ...others) => {
        const { content, info } = tokens[index]
        return info.trim() === "mermaid"
          ? `<Diagram source="${encodeURIComponent(content)}" />`
          : fence(tokens, index, ...others)
      }
      renderer.rules.text = (tokens, index) =>
        utils.escapeHtml(tokens[index].content).replaceAll("{{", "&#123;&#123;")
    },
  },
  // The index of the search is one large file on purpose.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    search: { provider: "local" },
    sidebar,
    outline: [2, 3],
  },
}
