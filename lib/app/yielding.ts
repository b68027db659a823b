import type { FastifyInstance, HTTPMethods } from 'fastify'

// Routes that the app may serve itself, before or after them. Fastify refuses two routes with the same method and path,
// and cannot remove one. It accepts both if one of them has a constraint, and calls that one as long as it matches.

/** The name of the constraint. Its value is the route. */
const constraint = 'notServedByApp'

interface Route {
  readonly method: HTTPMethods
  readonly url: string
}

/** Returns the constraints of a route that yields to that of the app. */
export type YieldingConstraints = (route: Route) => { [constraint]: Route }

/** Prepares an app for routes that yield to its own. Call it once. */
export function createYieldingConstraints (app: FastifyInstance): YieldingConstraints {
  const routes: Route[] = []
  const replaced = new Set<unknown>()
  app.addConstraintStrategy({
    name: constraint,
    deriveConstraint: () => constraint,
    // The router creates one for each method of a path, so it has one route.
    storage () {
      let stored: { route: unknown, handler: unknown } | undefined
      return {
        get: () => (stored === undefined || replaced.has(stored.route) ? null : stored.handler as never),
        set (route: unknown, handler: unknown) {
          stored = { route, handler }
        }
      }
    }
  })
  app.addHook('onReady', async () => {
    for (const route of routes) {
      // If the app serves GET, the path is its own with all methods.
      // A wildcard, such as that of @fastify/static, serves its `/`, but is not meant for the probes.
      const urls = route.url === '/' ? ['/', '/*', '*'] : [route.url]
      if (app.hasRoute(route) || urls.some((url) => app.hasRoute({ method: 'GET', url }))) replaced.add(route)
    }
  })
  return (route) => {
    routes.push(route)
    return { [constraint]: route }
  }
}
