/**
 * Who is signed in here gets a session there.
 */
import { tokenFor } from "../../Automation.ts"

export const POST = async (request: Request): Promise<Response> => {
  const token = await tokenFor(request)
  return token === undefined ? new Response("Sign in first", { status: 401 }) : new Response(token)
}
