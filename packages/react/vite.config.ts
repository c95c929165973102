// Builds what is published: modules without their dependencies, and one style sheet. The compiler
// writes the declarations beside them.
import { defineConfig } from "vite"

export default defineConfig({
  root: import.meta.dirname,
  build: {
    target: "es2023",
    cssTarget: ["chrome111", "firefox121", "safari16.4"],
    emptyOutDir: false,
    minify: false,
    lib: { entry: "src/index.ts", formats: ["es"], fileName: "index", cssFileName: "style" },
    rolldownOptions: {
      external: (id) => /^[@\w]/.test(id),
      // A module that is loaded on demand stands where its declarations are, also when several
      // other ones load it.
      output: {
        chunkFileNames: ({ facadeModuleId, moduleIds, name }) => {
          const id = facadeModuleId ?? moduleIds.find((id) => id.endsWith(`/${name}.tsx`))
          return /\/src\/(.*)\.tsx?$/.exec(id ?? "")?.[1]?.concat(".js") ?? "internal/[name].js"
        },
      },
    },
  },
})
