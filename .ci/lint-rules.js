import { builtinRules } from 'eslint/use-at-your-own-risk'

// Rules of ESLint that Oxlint does not have, as a plugin of Oxlint.

export default {
  meta: { name: 'more' },
  rules: Object.fromEntries(
    ['camelcase', 'no-restricted-syntax', 'no-undef-init'].map((name) => [name, builtinRules.get(name)])
  )
}
