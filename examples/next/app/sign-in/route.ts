/** Signs Ada in. Yours asks for a password. */
export const POST = () =>
  new Response(null, {
    status: 303,
    headers: {
      location: "/",
      "set-cookie": "session=session-of-ada; HttpOnly; SameSite=Lax; Path=/",
    },
  })
