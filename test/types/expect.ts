// Assertions about types, which only the compiler reads: `npm run types` compiles them with the rest of the project.
// A call that must not compile follows the directive for that, with a part of the message: see test/check-types.ts.

/** Two types are equal if neither the compiler nor a caller can tell them apart: `any` is equal to itself only. */
type IsEqual<One, Other> =
  (<Any>() => Any extends One ? 1 : 2) extends (<Any>() => Any extends Other ? 1 : 2) ? true : false

/** Every assertion on `any` or `never` would be true. */
type IsKnown<Type> = 0 extends 1 & Type ? false : [Type] extends [never] ? false : true

type IsAssignable<Source, Target> = [Source] extends [Target] ? true : false

type And<One, Other> = One extends true ? Other : false
type Not<Value> = Value extends true ? false : true

/** The parameters of an assertion: none if it is true, and one that no call has if it is wrong. */
type Holds<Value> = [Value] extends [true] ? [] : [theAssertionIsWrong: never]

interface Assertions<Type> {
  toBe: <Expected>(...wrong: Holds<IsEqual<Type, Expected>>) => void
  toBeAssignableTo: <Target>(...wrong: Holds<And<IsKnown<Type>, IsAssignable<Type, Target>>>) => void
  toBeAssignableFrom: <Source>(...wrong: Holds<And<IsKnown<Type>, IsAssignable<Source, Type>>>) => void
  toHaveProperty: <Name extends string>(
    name: Name,
    ...wrong: Holds<And<IsKnown<Type>, IsAssignable<Name, keyof Type>>>
  ) => void
  /** The function itself: its parameters are inferred and checked as in any other call. */
  toBeCallableWith: IsKnown<Type> extends true ? Type : never
  not: {
    toBe: <Expected>(...wrong: Holds<Not<IsEqual<Type, Expected>>>) => void
    toBeAssignableTo: <Target>(...wrong: Holds<And<IsKnown<Type>, Not<IsAssignable<Type, Target>>>>) => void
    toBeAssignableFrom: <Source>(...wrong: Holds<And<IsKnown<Type>, Not<IsAssignable<Source, Type>>>>) => void
    toHaveProperty: <Name extends string>(
      name: Name,
      ...wrong: Holds<And<IsKnown<Type>, Not<IsAssignable<Name, keyof Type>>>>
    ) => void
  }
}

/** Expects something of the type of a value, or of a type: `expect(value).type.toBe<string>()`. */
export declare function expect<Type> (): { type: Assertions<Type> }
export declare function expect<const Type> (value: Type): { type: Assertions<Type> }

/** A group of assertions. It is not run. */
export declare function test (title: string, assertions: () => void | Promise<void>): void
