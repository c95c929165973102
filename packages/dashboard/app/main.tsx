/**
 * Starts the app.
 */
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { App } from "./App.tsx"
import "./dashboard.css"
import { applyTheme, chosenTheme } from "./Theme.ts"

applyTheme(chosenTheme())
createRoot(document.querySelector("#root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
