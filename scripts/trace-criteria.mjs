/**
 * Joins the criteria of docs/requirements/ with the tests that carry their ids, complains about every loose end, and
 * writes docs/traceability.md. With `--check` it only compares that page with what it would write.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

/**
 * @typedef {{ id: string, pending: number | undefined }} Criterion
 * @typedef {{ criteria: Criterion[], landed: Set<number>, problems: string[] }} Requirements
 * @typedef {{ ids: string[], file: string, title: string }} Test
 * @typedef {{ id: string, file: string, title: string }} Row
 */

const ROOT = join(import.meta.dirname, '..');
const REQUIREMENTS = join(ROOT, 'docs', 'requirements');
const PAGE = join(ROOT, 'docs', 'traceability.md');

const CRITERION =
  /^- \*\*((?:AC-OFFICE-(?:ASSIGN-RATE|SESSION-IDENTITY|WORKER)-\d{3}\.|RUN-DEDUP-|COALESCING-)\d+)\*\* .*?(?:\(pending: (\d+)\))?$/;
const LANDED = /^Landed: (\d+(?:, *\d+)*)$/;
/** Wider than the ids of our criteria, so that a mistyped id in a title is noticed instead of overlooked. */
const LOOKS_LIKE_ID = /^(?:AC|RUN-DEDUP|COALESCING)-/;

/** Compares ids by the numbers in them: 001.2 comes before 001.10. */
const byNumber = new Intl.Collator('en', { numeric: true });

/**
 * The files below a folder, in an order that no file system decides.
 *
 * @param {string} folder
 * @param {string} ending
 */
const filesBelow = (folder, ending) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort();

/**
 * @param {string} line
 * @returns {Criterion[]}
 */
const criteriaIn = (line) => {
  const [, id, pending] = CRITERION.exec(line) ?? [];
  return id === undefined ? [] : [{ id, pending: pending === undefined ? undefined : Number(pending) }];
};

/** @param {string} line */
const landedIn = (line) => (LANDED.exec(line)?.[1]?.split(',') ?? []).map(Number);

/** @returns {Requirements} */
const readRequirements = () => {
  const lines = filesBelow(REQUIREMENTS, '.md').flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  const landed = new Set(lines.flatMap(landedIn));
  const problems = lines
    .filter((line) => line.startsWith('- **') && !CRITERION.test(line))
    .map((line) => `not readable as a criterion: ${line}`);
  if (landed.size === 0) problems.push('docs/requirements has no line "Landed: …"');
  const criteria = lines.flatMap(criteriaIn).sort((one, other) => byNumber.compare(one.id, other.id));
  return { criteria, landed, problems };
};

/**
 * The ids in front of a title, separated by spaces or commas.
 *
 * @param {string} title
 */
const leadingIds = (title) => {
  const words = title.split(/[\s,]+/);
  const end = words.findIndex((word) => !LOOKS_LIKE_ID.test(word));
  return end === -1 ? words : words.slice(0, end);
};

/**
 * A string literal as a title; of a template its text as written, with the ids from before its first expression.
 *
 * @param {ts.Node} node
 * @param {string} file
 * @returns {Test | undefined}
 */
const titleOf = (node, file) => {
  if (ts.isStringLiteralLike(node)) return { ids: leadingIds(node.text), file, title: node.text };
  if (!ts.isTemplateExpression(node)) return undefined;
  return { ids: leadingIds(node.head.text), file, title: node.getText().slice(1, -1) };
};

/**
 * @param {string} path
 * @returns {Test[]}
 */
const testsOf = (path) => {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const file = relative(ROOT, path);
  /** @type {Test[]} */
  const tests = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    const test = titleOf(node, file);
    if (test !== undefined && test.ids.length > 0) tests.push(test);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return tests;
};

/**
 * @param {Criterion[]} criteria
 * @returns {string[]}
 */
const duplicates = (criteria) =>
  criteria
    .filter(({ id }, index) => id === criteria[index - 1]?.id)
    .map(({ id }) => `${id} stands in docs/requirements more than once`);

/**
 * @param {Criterion} criterion
 * @param {Set<number>} landed
 * @param {boolean} tested
 * @returns {string[]}
 */
const problemsOf = ({ id, pending }, landed, tested) => {
  if (pending === undefined) return tested ? [] : [`${id} has neither a test nor a pending mark`];
  return landed.has(pending) ? [`${id} is pending on package ${pending}, which has landed`] : [];
};

/**
 * @param {Requirements} requirements
 * @param {Row[]} rows
 * @returns {string[]}
 */
const problemsIn = ({ criteria, landed, problems }, rows) => {
  const known = new Set(criteria.map(({ id }) => id));
  const tested = new Set(rows.map(({ id }) => id));
  return [
    ...problems,
    ...duplicates(criteria),
    ...criteria.flatMap((criterion) => problemsOf(criterion, landed, tested.has(criterion.id))),
    ...rows
      .filter(({ id }) => !known.has(id))
      .map(({ id, file, title }) => `${id} is unknown: ${file}: ${title}`),
  ];
};

/**
 * @param {Criterion[]} criteria
 * @param {Row[]} rows
 */
const testedButPending = (criteria, rows) => {
  const tested = new Set(rows.map(({ id }) => id));
  return criteria.filter(({ id, pending }) => pending !== undefined && tested.has(id)).map(({ id }) => id);
};

/**
 * Text that stays in its table cell and looks as it is written.
 *
 * @param {string} text
 */
const cell = (text) => text.replace(/\s+/g, ' ').replace(/[\\|<*`]/g, '\\$&');

/**
 * @param {Criterion} criterion
 * @param {Row[]} rows
 * @returns {string[]}
 */
const linesOf = ({ id, pending }, rows) => {
  const own = rows.filter((row) => row.id === id);
  if (own.length === 0) return [`| ${id} | ${pending === undefined ? 'none' : `pending: ${pending}`} | |`];
  return own.map(({ file, title }) => `| ${id} | ${file} | ${cell(title)} |`);
};

/**
 * @param {Criterion[]} criteria
 * @param {Row[]} rows
 */
const pageOf = (criteria, rows) => {
  const lines = criteria.flatMap((criterion) => linesOf(criterion, rows));
  return `# Traceability

Generated by \`npm run trace\` from [requirements](requirements/README.md) and the titles of the tests; not edited by hand.

| criterion | test file | title |
| --- | --- | --- |
${lines.join('\n')}
`;
};

/**
 * @param {string} heading
 * @param {string[]} items
 */
const print = (heading, items) => {
  if (items.length > 0) console.log([heading, ...items].join('\n  '));
};

const requirements = readRequirements();
const rows = filesBelow(join(ROOT, 'test'), '.ts')
  .flatMap(testsOf)
  .flatMap(({ ids, file, title }) => ids.map((id) => ({ id, file, title })));
const problems = problemsIn(requirements, rows);
const page = pageOf(requirements.criteria, rows);

if (!process.argv.includes('--check')) {
  writeFileSync(PAGE, page);
} else if (!existsSync(PAGE) || readFileSync(PAGE, 'utf8') !== page) {
  problems.push('docs/traceability.md is out of date: `npm run trace` writes it');
}

print('Tested, and still marked as pending:', testedButPending(requirements.criteria, rows));
print('Criteria and tests do not agree:', problems);
process.exitCode = problems.length > 0 ? 1 : 0;
