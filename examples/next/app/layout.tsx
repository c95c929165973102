/** The frame of all pages. */
import "@millrace/react/style.css"
import type { ReactNode } from "react"

export const metadata = { title: "Plants" }

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
