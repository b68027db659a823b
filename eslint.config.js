import neostandard from 'neostandard'

/** The script of HTML pages is text in a module. Its messages have the lines of the script. */
const pageScript = {
  preprocess: (text) => [text, { text: text.match(/String\.raw`([^]*)`/)[1], filename: 'script.js' }],
  postprocess: (messages) => messages.flat()
}

const parameterTuple = 'Use an object with names instead of a tuple.'

export default [
  ...neostandard({ ts: true, ignores: ['dist', '.tap', 'site/dist', 'site/.astro'] }),
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
  { files: ['lib/formats/html/script.ts'], processor: pageScript },
  {
    files: ['lib/formats/html/script.ts/*.js'],
    languageOptions: {
      globals: {
        location: 'readonly',
        history: 'readonly',
        HTMLElement: 'readonly',
        HTMLButtonElement: 'readonly',
        ResizeObserver: 'readonly'
      }
    }
  },
  {
    files: ['lib/**/*.ts'],
    rules: { '@stylistic/max-len': ['error', { code: 120 }] }
  }
]
