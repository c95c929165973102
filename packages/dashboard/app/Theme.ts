/**
 * Light or dark: as the system says, or as the viewer chose.
 */

/** What can be chosen. */
export type Theme = "system" | "light" | "dark"

const key = "millrace.theme"

/** The viewer's choice. */
export const chosenTheme = (): Theme => {
  const kept = localStorage.getItem(key)
  return kept === "light" || kept === "dark" ? kept : "system"
}

/** Shows the page in a theme. */
export const applyTheme = (theme: Theme): void => {
  if (theme === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = theme
}

/** Keeps a choice and shows it. */
export const chooseTheme = (theme: Theme): void => {
  localStorage.setItem(key, theme)
  applyTheme(theme)
}
