/**
 * Tabs: one of several parts is shown. Arrow keys go from tab to tab, Home and End to the outer
 * ones.
 */
import type { KeyboardEvent, ReactNode } from "react"
import { useId, useRef } from "react"
import styles from "./NodePanel.module.css"

/** One part and its name. */
export interface Tab<K extends string> {
  readonly key: K
  readonly label: string
}

interface TabsProps<K extends string> {
  readonly tabs: ReadonlyArray<Tab<K>>
  readonly label: string
  readonly chosen: K
  readonly onChoose: (key: K) => void
  readonly children: ReactNode
}

const steps: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowRight: (index, count) => (index + 1) % count,
  ArrowLeft: (index, count) => (index + count - 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
}

/** Shows the tabs, and below them the children. */
export const Tabs = <K extends string>(props: TabsProps<K>) => {
  const { children, chosen, label, onChoose, tabs } = props
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ key }) => key === chosen)
    const next = steps[event.key]?.(at, tabs.length)
    const tab = next === undefined ? undefined : tabs[next]
    if (tab === undefined) return
    event.preventDefault()
    onChoose(tab.key)
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next!]?.focus()
  }
  return (
    <>
      <div
        aria-label={label}
        className={styles.tabs}
        onKeyDown={onKeyDown}
        ref={list}
        role="tablist"
      >
        {tabs.map((tab) => (
          <button
            aria-controls={`${id}panel`}
            aria-selected={tab.key === chosen}
            id={`${id}${tab.key}`}
            key={tab.key}
            onClick={() => onChoose(tab.key)}
            role="tab"
            tabIndex={tab.key === chosen ? 0 : -1}
            type="button"
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div aria-labelledby={`${id}${chosen}`} id={`${id}panel`} role="tabpanel">
        {children}
      </div>
    </>
  )
}
