/**
 * Next calls this once, before the first request: runs that an earlier process has left go on.
 */
export const register = async (): Promise<void> => {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return
  const { automation } = await import("./Automation.ts")
  await automation()
}
