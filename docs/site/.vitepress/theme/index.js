// The usual theme with the fonts of the reader's machine, and diagrams, which the reader's browser
// draws from the source of the page. Without JavaScript, the source is shown.
import { useData } from "vitepress"
import Theme from "vitepress/theme-without-fonts"
import { defineComponent, h, onMounted, ref, useId, watch } from "vue"

const Diagram = defineComponent({
  props: { source: { type: String, required: true } },
  setup({ source }) {
    const drawn = ref("")
    const id = `diagram-${useId()}`
    const { isDark } = useData()
    const draw = async () => {
      const { default: mermaid } = await import("mermaid")
      const theme = isDark.value ? "dark" : "neutral"
      mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme })
      drawn.value = (await mermaid.render(id, decodeURIComponent(source))).svg
    }
    onMounted(() => void draw())
    watch(isDark, () => void draw())
    return () =>
      drawn.value === ""
        ? h("pre", decodeURIComponent(source))
        : h("div", { class: "diagram", innerHTML: drawn.value })
  },
})

export default {
  extends: Theme,
  enhanceApp: ({ app }) => void app.component("Diagram", Diagram),
}
