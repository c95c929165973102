import { describe, expect, it } from "vitest"
import { Webhook } from "standardwebhooks"
import { keyOf, sign } from "../src/Signature.ts"

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const body = '{"test": 2432232314}'
const message = {
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestampSeconds: 1_614_265_330,
  body: Buffer.from(body),
}

describe("Signature.sign", () => {
  it("reproduces the vector that the standard publishes", () => {
    expect(sign(message, [keyOf(secret)])).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  })

  it("signs as the package of the standard does, byte for byte", () => {
    const { id, timestampSeconds } = message
    const theirs = new Webhook(secret).sign(id, new Date(timestampSeconds * 1_000), body)
    expect(sign(message, [keyOf(secret)])).toBe(theirs)
  })

  it("takes a secret with its prefix and without it", () => {
    expect(keyOf(secret.slice("whsec_".length))).toEqual(keyOf(secret))
  })

  it("has one signature for each key, in their order", () => {
    const other = keyOf(`whsec_${Buffer.alloc(32, 7).toString("base64")}`)
    const both = sign(message, [other, keyOf(secret)]).split(" ")
    expect(both).toEqual([sign(message, [other]), sign(message, [keyOf(secret)])])
  })
})
