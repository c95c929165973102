/**
 * The page of the application: whoever has signed in draws and runs the workflows of their company.
 */
import { cookies } from "next/headers"
import { signedIn } from "../Automation.ts"
import { Flows } from "./Flows.tsx"

export default async function Page() {
  const account = signedIn.get((await cookies()).get("session")?.value ?? "")
  if (account !== undefined) return <Flows />
  return (
    <form action="/sign-in" method="post">
      <button>Sign in as Ada</button>
    </form>
  )
}
