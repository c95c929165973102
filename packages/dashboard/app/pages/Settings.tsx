/**
 * What the viewer can set, and what is known of their session.
 */
import { useState } from "react"
import { serverUrl, useSession } from "../Console.ts"
import { Page } from "../parts/Page.tsx"
import type { Theme } from "../Theme.ts"
import { chooseTheme, chosenTheme } from "../Theme.ts"
import { timeText, timeZone } from "../Words.ts"

const themes: ReadonlyArray<{ readonly theme: Theme; readonly words: string }> = [
  { theme: "system", words: "As the system" },
  { theme: "light", words: "Light" },
  { theme: "dark", words: "Dark" },
]

/** Settings of this browser. */
export const Settings = () => {
  const [theme, setTheme] = useState(chosenTheme)
  const { data: session } = useSession()
  return (
    <Page title="Settings">
      <fieldset>
        <legend>Theme</legend>
        {themes.map((each) => (
          <label key={each.theme} className="check">
            <input
              type="radio"
              name="theme"
              checked={theme === each.theme}
              onChange={() => {
                chooseTheme(each.theme)
                setTheme(each.theme)
              }}
            />
            {each.words}
          </label>
        ))}
      </fieldset>
      <h2>Session</h2>
      <dl className="facts">
        <div>
          <dt>Role</dt>
          <dd>{session?.role}</dd>
        </div>
        <div>
          <dt>Ends at the latest</dt>
          <dd>{timeText(session?.expiresAt ?? null)}</dd>
        </div>
        <div>
          <dt>Times are shown in</dt>
          <dd>{timeZone}</dd>
        </div>
        <div>
          <dt>Server</dt>
          <dd>{serverUrl}</dd>
        </div>
      </dl>
      <p>
        <a href={`${serverUrl}/api/docs`}>Reference of the interface</a>
      </p>
    </Page>
  )
}
