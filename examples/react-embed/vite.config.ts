/**
 * Builds the page into `dist`.
 */
import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

export default defineConfig({
  root: "page",
  plugins: [react()],
  // Only inside the repository: packages are taken as their sources. Yours does not need this.
  resolve: { conditions: ["@millrace/source", "module", "browser", "production"] },
  build: { outDir: "../dist", emptyOutDir: true, chunkSizeWarningLimit: 2_000 },
})
