/**
 * The frame of the dashboard: who is not signed in signs in; everybody else gets navigation and a
 * page.
 */
import { QueryClientProvider } from "@tanstack/react-query"
import { lazy, Suspense } from "react"
import { Route, Router, Switch } from "wouter"
import { basePath, queries, sentenceOf, useSession } from "./Console.ts"
import { Login } from "./pages/Login.tsx"
import { Runs } from "./pages/Runs.tsx"
import { Workflows } from "./pages/Workflows.tsx"
import { Notice } from "./parts/Notice.tsx"
import { Page } from "./parts/Page.tsx"
import { Shell } from "./parts/Shell.tsx"

const Run = lazy(() => import("./pages/Run.tsx").then(({ Run: page }) => ({ default: page })))
const Workflow = lazy(() =>
  import("./pages/Workflow.tsx").then(({ Workflow: page }) => ({ default: page })),
)
const Keys = lazy(() => import("./pages/Keys.tsx").then(({ Keys: page }) => ({ default: page })))
const Approvals = lazy(() =>
  import("./pages/Approvals.tsx").then(({ Approvals: page }) => ({ default: page })),
)
const Deliveries = lazy(() =>
  import("./pages/Deliveries.tsx").then(({ Deliveries: page }) => ({ default: page })),
)
const Usage = lazy(() => import("./pages/Usage.tsx").then(({ Usage: page }) => ({ default: page })))
const Secrets = lazy(() =>
  import("./pages/Secrets.tsx").then(({ Secrets: page }) => ({ default: page })),
)
const Sessions = lazy(() =>
  import("./pages/Sessions.tsx").then(({ Sessions: page }) => ({ default: page })),
)
const NodeTypes = lazy(() =>
  import("./pages/NodeTypes.tsx").then(({ NodeTypes: page }) => ({ default: page })),
)
const Settings = lazy(() =>
  import("./pages/Settings.tsx").then(({ Settings: page }) => ({ default: page })),
)
const Accounts = lazy(() =>
  import("./pages/Accounts.tsx").then(({ Accounts: page }) => ({ default: page })),
)

const Grants = lazy(() =>
  import("./pages/Grants.tsx").then(({ Grants: page }) => ({ default: page })),
)
const Health = lazy(() =>
  import("./pages/Health.tsx").then(({ Health: page }) => ({ default: page })),
)

const Unknown = () => (
  <Page title="Not found">
    <Notice>There is no page at this address. Choose one in the navigation.</Notice>
  </Page>
)

const Pages = () => (
  <Suspense fallback={<p className="quiet">Loading</p>}>
    <Switch>
      <Route path="/" component={Workflows} />
      <Route path="/workflows/:id">{({ id }) => <Workflow key={id} id={id} />}</Route>
      <Route path="/runs" component={Runs} />
      <Route path="/runs/:id">{({ id }) => <Run key={id} id={id} />}</Route>
      <Route path="/approvals" component={Approvals} />
      <Route path="/deliveries" component={Deliveries} />
      <Route path="/usage" component={Usage} />
      <Route path="/node-types" component={NodeTypes} />
      <Route path="/keys" component={Keys} />
      <Route path="/secrets" component={Secrets} />
      <Route path="/sessions" component={Sessions} />
      <Route path="/accounts" component={Accounts} />
      <Route path="/grants" component={Grants} />
      <Route path="/health" component={Health} />
      <Route path="/settings" component={Settings} />
      <Route component={Unknown} />
    </Switch>
  </Suspense>
)

const Gate = () => {
  const { data: session, error, isPending } = useSession()
  if (isPending) return <p className="quiet center">Loading</p>
  if (error !== null) return <Notice kind="error">{sentenceOf(error)}</Notice>
  if (session === null) return <Login />
  return (
    <Shell session={session}>
      <Pages />
    </Shell>
  )
}

/** The whole app. */
export const App = () => (
  <QueryClientProvider client={queries}>
    <Router base={basePath}>
      <Switch>
        <Route path="/login" component={Login} />
        <Route component={Gate} />
      </Switch>
    </Router>
  </QueryClientProvider>
)
