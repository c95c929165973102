/**
 * Builds the app of the dashboard into `dist/app`. Addresses are relative, so that it works at any
 * base path; the server puts the nonce and the base into the page.
 */
import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

export default defineConfig({
  root: "app",
  base: "./",
  plugins: [react()],
  html: { cspNonce: "__NONCE__" },
  resolve: { conditions: ["@millrace/source", "module", "browser", "production"] },
  build: {
    outDir: "../dist/app",
    emptyOutDir: true,
    target: "es2022",
    // Inlined files would need exceptions of the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
