/** The folders of src from the bottom up. A module imports from its own layer and from those before it. */
const LAYERS = [
  ['errors'],
  ['clock'],
  ['random'],
  ['config'],
  ['database', 'events', 'metrics'],
  ['workspaces', 'agents', 'auth'],
  ['tasks'],
  ['sessions'],
  ['runs'],
  ['decisions'],
  ['scheduler'],
  ['office'],
  ['worker'],
  ['http'],
];

/** The modules that put the layers together lie directly in src, above all of them. */
const TOP = '^src/[^/]+\\.ts$';

const GATE = '^src/scheduler/gates/[^/]+\\.gate\\.ts$';

/** @param {string[]} folders */
const inside = (folders) => `^src/(${folders.join('|')})/`;

/** @param {string[]} names */
const packages = (names) => `(^|/)node_modules/(${names.join('|')})/`;

const layerRules = LAYERS.map((folders, index) => ({
  name: `layer-${folders.join('-')}`,
  comment:
    'A layer knows only those below it, so each can be read, tested and replaced without what stands above.',
  severity: 'error',
  from: { path: inside(folders) },
  to: { path: [...LAYERS.slice(index + 1).map(inside), TOP] },
}));

const neighbourRules = [
  {
    name: 'every-folder-has-a-layer',
    comment: 'A folder that the list above does not name would be free to import anything.',
    severity: 'error',
    from: {},
    to: { path: '^src/[^/]+/', pathNot: inside(LAYERS.flat()) },
  },
  {
    name: 'database-stands-alone',
    comment: 'Events and metrics are stored and counted through the database; it reports to neither of them.',
    severity: 'error',
    from: { path: inside(['database']) },
    to: { path: inside(['events', 'metrics']) },
  },
  {
    name: 'gates-know-no-gates',
    comment:
      'A gate answers one question about one wake; what comes before or after it is the order’s to say.',
    severity: 'error',
    from: { path: GATE },
    to: { path: GATE },
  },
];

const packageRules = [
  {
    name: 'typeorm-in-its-places',
    comment: 'A statement stands where a reader looks for statements, and runs through Transactions.',
    severity: 'error',
    from: {
      path: '^src/',
      pathNot: ['^src/database/', '\\.(repository|schema|creator)\\.ts$', '^src/entities\\.ts$'],
    },
    to: { path: packages(['typeorm']) },
  },
  {
    name: 'http-packages-at-the-edge',
    comment: 'What serves and describes HTTP stays at the edge, so the library works in a host without it.',
    severity: 'error',
    from: { path: '^src/', pathNot: [inside(['http']), TOP] },
    to: { path: packages(['@nestjs/swagger', '@nestjs/platform-fastify', 'nestjs-zod']) },
  },
  {
    name: 'zod-at-the-edge',
    comment: 'What comes from outside is validated where it enters; further in, the types hold.',
    severity: 'error',
    from: { path: '^src/', pathNot: [inside(['http', 'config']), TOP] },
    to: { path: packages(['zod']) },
  },
  {
    name: 'no-development-packages',
    comment: 'An installation for production does not have them.',
    severity: 'error',
    from: { path: '^src/' },
    to: { dependencyTypes: ['npm-dev'] },
  },
];

const shapeRules = [
  {
    name: 'no-circles',
    comment: 'In a circle nothing can be understood first, and decorators see classes that do not exist yet.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-orphans',
    comment: 'A module that imports nothing and that nothing imports is forgotten.',
    severity: 'error',
    from: { orphan: true, path: '^src/', pathNot: '^src/(main|index|testing)\\.ts$' },
    to: {},
  },
  {
    name: 'no-inner-barrels',
    comment: 'Inside src an import names the file that holds the thing; the two public doors are at the top.',
    severity: 'error',
    from: { path: '^src/.+/index\\.ts$' },
    to: {},
  },
  {
    name: 'source-stands-alone',
    comment: 'Tests, scripts, benchmarks and examples use the source and are not shipped with it.',
    severity: 'error',
    from: { path: '^src/' },
    to: { path: '^(test|scripts|bench|examples)/' },
  },
];

module.exports = {
  forbidden: [...layerRules, ...neighbourRules, ...packageRules, ...shapeRules],
  options: {
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      conditionNames: ['require', 'node', 'types', 'default'],
      exportsFields: ['exports'],
    },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
  },
};
