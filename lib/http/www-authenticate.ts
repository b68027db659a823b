// RFC 9110, section 11.6.1: WWW-Authenticate.

/** A 401 must have a challenge (RFC 9110, section 15.5.2). This one is sent if the app states none. */
export const defaultChallenge = 'Bearer'

/** Scheme names are case-insensitive (RFC 9110, section 11.1). */
const bearer = /^bearer(?: |$)/i

/** Builds the challenge. If the client sent a token, it states that the token is invalid (RFC 6750, section 3). */
export function buildChallenge (authorization: string | undefined, challenge: string): string {
  const statesError = /\berror=/i.test(challenge) || challenge.includes(',')
  const sentToken = authorization !== undefined && bearer.test(authorization)
  if (statesError || !sentToken || !bearer.test(challenge)) return challenge
  return `${challenge}${challenge.includes(' ') ? ',' : ''} error="invalid_token"`
}
