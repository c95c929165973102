/**
 * React components and hooks that show workflows and their runs, live.
 *
 * Leaves out: the client; it is `createClient` of `millrace/client`.
 */
export { Canvas } from "./Canvas.tsx"
export type { CanvasProps } from "./Canvas.tsx"
export * from "./Hooks.ts"
export { englishMessages } from "./Messages.ts"
export type { Messages } from "./Messages.ts"
export { Millrace } from "./Millrace.tsx"
export type { MillraceProps, Theme } from "./Millrace.tsx"
export { arranged } from "./model/BoxArrangement.ts"
export * from "./model/CanvasLayout.ts"
export * from "./model/ListedRuns.ts"
export * from "./model/LiveRun.ts"
export * from "./model/LoggedLines.ts"
export { nothingFollowed, RunFollower } from "./model/RunFollower.ts"
export type { FollowedRun, FollowerOptions } from "./model/RunFollower.ts"
export * from "./model/RunTimeline.ts"
export { curlOf } from "./model/StartCommand.ts"
export type { StartToCopy } from "./model/StartCommand.ts"
export { RunView } from "./RunView.tsx"
export type { RunPanel, RunViewProps } from "./RunView.tsx"
