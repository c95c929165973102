/**
 * The log of a node: by level, searched, downloaded.
 *
 * Guarantees: ten thousand lines do not stop the page; it draws some hundreds and more on demand.
 */
import { Download } from "lucide-react"
import { useDeferredValue, useId, useMemo, useState } from "react"
import type { LoggedLine, LogLevel } from "../model/LoggedLines.ts"
import { filteredLog, logLevels, logText } from "../model/LoggedLines.ts"
import styles from "./NodePanel.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

/** Lines that are drawn at once. */
const pageOfLines = 300

const download = (name: string, text: string) => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1_000)
}

const Line = ({ line }: { line: LoggedLine }) => {
  const { times } = useSurroundings()
  return (
    <li data-level={line.level}>
      <time dateTime={line.at}>{times.exact(line.at)}</time>
      <span className={styles.level}>{line.level}</span>
      <span className={styles.message} dir="auto">
        {line.message}
        {line.data === undefined ? null : <code>{JSON.stringify(line.data)}</code>}
      </span>
    </li>
  )
}

/** Shows a log. `name` is that of the file to download. */
export const LogView = ({ lines, name }: { lines: ReadonlyArray<LoggedLine>; name: string }) => {
  const { messages } = useSurroundings()
  const [level, setLevel] = useState<LogLevel>("debug")
  const [text, setText] = useState("")
  const [wanted, setWanted] = useState(pageOfLines)
  const filter = useDeferredValue(text)
  const found = useMemo(() => filteredLog(lines, { level, text: filter }), [lines, level, filter])
  const id = useId()
  if (lines.length === 0) return <p className={theme.sentence}>{messages.noLogs}</p>
  return (
    <div className={styles.log}>
      <div className={styles.logTools}>
        <label className={theme.hidden} htmlFor={`${id}level`}>
          {messages.level}
        </label>
        <select
          id={`${id}level`}
          onChange={(event) => setLevel(event.target.value as LogLevel)}
          value={level}
        >
          {logLevels.map((each) => (
            <option key={each} value={each}>
              {messages.logLevels[each]}
            </option>
          ))}
        </select>
        <input
          aria-label={messages.searchLogs}
          onChange={(event) => setText(event.target.value)}
          placeholder={messages.searchLogs}
          type="search"
          value={text}
        />
        <button
          className={theme.button}
          onClick={() => download(`${name}.log`, logText(lines))}
          type="button"
        >
          <Download aria-hidden size={14} />
          {messages.download}
        </button>
        <span aria-live="polite" className={theme.muted}>
          {messages.lines(found.length, lines.length)}
        </span>
      </div>
      {found.length === 0 ? <p className={theme.sentence}>{messages.noLogsFound}</p> : null}
      <ol aria-label={messages.logs} tabIndex={0}>
        {found.slice(0, wanted).map((line, index) => (
          <Line key={index} line={line} />
        ))}
      </ol>
      {found.length <= wanted ? null : (
        <button
          className={theme.button}
          onClick={() => setWanted((before) => 3 * before)}
          type="button"
        >
          {messages.moreLines}
        </button>
      )}
    </div>
  )
}
