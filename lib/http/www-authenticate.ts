// RFC 9110 section 11.6.1: WWW-Authenticate.

/** For a 401 of which nothing more is known: it must bear a challenge (RFC 9110 section 15.5.2). */
export const anyChallenge = 'Bearer'

/** Scheme names are case-insensitive (RFC 9110 section 11.1). */
const bearer = /^bearer(?: |$)/i

/** RFC 6750 section 3: to a token that was sent, the challenge says that it is not valid; without one it says nothing more. */
export function challengeTo (authorization: string | undefined, challenge: string): string {
  const told = /\berror=/i.test(challenge) || challenge.includes(',')
  if (told || authorization === undefined || !bearer.test(authorization) || !bearer.test(challenge)) return challenge
  return `${challenge}${challenge.includes(' ') ? ',' : ''} error="invalid_token"`
}
