import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** @typedef {{ selector: string, message: string }} Restriction */

const TEST_FILES = ['test/**/*.ts'];
const WITHOUT_BLANKS_AND_COMMENTS = { skipBlankLines: true, skipComments: true };

/**
 * `max-params` cannot tell a constructor from a function, and what Nest injects cannot be an object. So the rule
 * itself holds the ceiling for injected constructors, and this restriction the limit of four for everything else.
 *
 * @type {Restriction[]}
 */
const MANY_PARAMETERS = [
  {
    selector: [
      'FunctionDeclaration[params.length>4]',
      'ArrowFunctionExpression[params.length>4]',
      ':not(MethodDefinition[kind="constructor"]) > FunctionExpression[params.length>4]',
      ':matches(ClassDeclaration, ClassExpression)[decorators.length=0] > ClassBody > MethodDefinition[kind="constructor"] > FunctionExpression[params.length>4]',
    ].join(', '),
    message: 'More than four parameters: pass an object. Only an injected constructor may take more.',
  },
];

/** @type {Restriction[]} */
const CLOCK_READS = [
  {
    selector: 'MemberExpression[object.name="Date"][property.name="now"]',
    message: 'Ask the injected Clock: tests cannot move the machine’s.',
  },
  {
    selector: 'NewExpression[callee.name="Date"][arguments.length=0], CallExpression[callee.name="Date"]',
    message: 'Ask the injected Clock for the present instant; `new Date(instant)` is fine.',
  },
];

/** @type {Restriction[]} */
const ENVIRONMENT_READS = [
  {
    selector: [
      'MemberExpression[object.name="process"]:matches([property.name="env"], [property.value="env"])',
      'MemberExpression[object.property.name="process"][property.name="env"]',
      'VariableDeclarator[init.name="process"] > ObjectPattern > Property[key.name="env"]',
      'ImportDeclaration[source.value=/^(node:)?process$/] > ImportSpecifier[imported.name="env"]',
    ].join(', '),
    message: 'The environment is read once, checked and typed, by src/config/read-environment.ts.',
  },
];

/** @type {Restriction[]} */
const SOURCE_ONLY = [
  {
    selector: 'MemberExpression[object.name="Math"][property.name="random"]',
    message: 'Ids come from Ids and secrets from Randomness; Math.random is fit for neither.',
  },
  {
    selector: 'CallExpression[callee.property.name="distinctOn"]',
    message: 'DISTINCT ON exists on PostgreSQL alone; statements run on SQLite too.',
  },
];

/** @type {Restriction[]} */
const SLEEPS = [
  {
    selector: [
      'NewExpression[callee.name="Promise"] CallExpression[callee.name="setTimeout"]',
      'NewExpression[callee.name="Promise"] CallExpression[callee.property.name="setTimeout"]',
      'CallExpression[callee.name="promisify"][arguments.0.name="setTimeout"]',
      'ImportDeclaration[source.value=/timers.promises$/] > ImportSpecifier[imported.name=/^(setTimeout|scheduler)$/]',
      'ImportDeclaration[source.value=/timers.promises$/] > :matches(ImportDefaultSpecifier, ImportNamespaceSpecifier)',
    ].join(', '),
    message: 'Tests never sleep: move the FakeClock, or wait for the event itself.',
  },
];

/**
 * The options of a rule are replaced and never merged, so every group of files names all that holds for it.
 *
 * @param {string[]} files
 * @param {Restriction[]} restrictions
 * @returns {import('eslint').Linter.Config}
 */
const restrict = (files, restrictions) => ({
  files,
  rules: {
    'no-restricted-syntax': ['error', ...MANY_PARAMETERS, ...restrictions],
  },
});

export default defineConfig(
  globalIgnores(['dist/', 'data/', 'reports/']),
  {
    files: ['**/*.{ts,mjs,cjs}'],
    extends: [
      js.configs.recommended,
      tseslint.configs.strictTypeChecked,
      tseslint.configs.stylisticTypeChecked,
    ],
    languageOptions: {
      parserOptions: {
        // A TypeScript glob never matches a leading dot, so tsconfig.json cannot include this one.
        projectService: { allowDefaultProject: ['.dependency-cruiser.cjs'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-member-accessibility': ['error', { accessibility: 'no-public' }],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        {
          allowAny: false,
          allowBoolean: false,
          allowNever: false,
          allowNullish: false,
          allowNumber: true,
          allowRegExp: false,
        },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      complexity: ['error', 8],
      'max-lines': ['error', { max: 200, ...WITHOUT_BLANKS_AND_COMMENTS }],
      'max-lines-per-function': ['error', { max: 40, ...WITHOUT_BLANKS_AND_COMMENTS }],
      'max-params': ['error', 8],
      'no-console': 'error',
      'no-undef': 'off', // the compiler knows the globals of Node and of jest, also in checked JavaScript
    },
  },
  restrict(['**/*.{ts,mjs,cjs}'], []),
  restrict(['src/**/*.ts'], [...CLOCK_READS, ...ENVIRONMENT_READS, ...SOURCE_ONLY]),
  restrict(['src/clock/system-clock.ts'], [...ENVIRONMENT_READS, ...SOURCE_ONLY]),
  restrict(['src/config/read-environment.ts'], [...CLOCK_READS, ...SOURCE_ONLY]),
  restrict(TEST_FILES, [...CLOCK_READS, ...SLEEPS]),
  {
    files: ['**/*.schema.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off', // rejects the literal that `new EntitySchema({…})` is given
    },
  },
  {
    files: TEST_FILES,
    rules: {
      'max-lines': ['error', { max: 400, ...WITHOUT_BLANKS_AND_COMMENTS }],
      'max-lines-per-function': 'off', // a describe block holds all tests of its subject
    },
  },
  {
    files: ['scripts/**', 'bench/**', 'examples/**'],
    rules: {
      'no-console': 'off', // what they print is what they are run for
    },
  },
);
