/**
 * The HTTP interface of the engine, below `/automation`.
 */
import { automation } from "../../../Automation.ts"

const handle = async (request: Request): Promise<Response> => (await automation()).fetch(request)

export const GET = handle
export const POST = handle
export const PUT = handle
export const PATCH = handle
export const DELETE = handle
