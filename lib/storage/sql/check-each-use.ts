import { hasMethods } from '../bad-storage.ts'

/**
 * Returns a proxy of an object of a SQLite driver. It calls `check` before each use, and so does everything that it
 * returns and that can run statements as well: the app may keep a method or a prepared statement.
 */
export function checkEachUse<Value extends object> (value: Value, check: () => void): Value {
  const wrap = (result: unknown): unknown => canRunStatements(result) ? checkEachUse(result, check) : result
  // Not the value itself: a proxy must return read-only properties of its target as they are, such as the database of a
  // statement of better-sqlite3.
  const target = typeof value === 'function' ? () => {} : Object.create(Object.getPrototypeOf(value))
  return new Proxy(target, {
    get (_target, name) {
      check()
      const property: unknown = Reflect.get(value, name)
      // Methods of a driver do not accept a proxy as this.
      return wrap(typeof property === 'function' ? property.bind(value) : property)
    },
    apply (_target, self, values) {
      check()
      return wrap(Reflect.apply(value as Function, self, values))
    }
  })
}

/** Whether it is a function, a database, a statement or an iterator, which runs its statement. Rows have no methods. */
function canRunStatements (value: unknown): value is object {
  return typeof value === 'function' || ['prepare', 'run', 'next'].some((name) => hasMethods(value, name))
}
