import neostandard from 'neostandard'

const parameterTuple = 'Use an object with names instead of a tuple.'

export default [
  ...neostandard({ ts: true, ignores: ['dist', '.tap'] }),
  {
    files: ['**/*.ts'],
    rules: {
      '@stylistic/arrow-parens': ['error', 'always'],
      '@stylistic/max-len': ['error', { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      'no-restricted-syntax': [
        'error',
        { selector: 'FunctionDeclaration > ArrayPattern.params', message: parameterTuple },
        { selector: 'FunctionDeclaration > .params[typeAnnotation.typeAnnotation.type="TSTupleType"]', message: parameterTuple }
      ]
    }
  },
  {
    files: ['lib/**/*.ts'],
    rules: { '@stylistic/max-len': ['error', { code: 120 }] }
  }
]
