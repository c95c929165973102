/**
 * A page: its title, which is also the window's, what can be done, and its content.
 */
import type { ReactNode } from "react"
import { useEffect } from "react"

/** A page. */
export const Page = ({
  actions,
  children,
  title,
}: {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}) => {
  useEffect(() => {
    document.title = `${title} – Millrace`
  }, [title])
  return (
    <>
      <header className="page-head">
        <h1>{title}</h1>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}
