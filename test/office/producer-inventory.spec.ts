import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { PRODUCERS } from '../support/assignment-drivers.js';

const SOURCES = join(__dirname, '../../src');

/** The producers, and whatever else may speak of their reason without asking for a wake. */
const SPEAK_OF_IT: Readonly<Record<string, string>> = {
  'office/producers/assignment-mutation.producer.ts': 'a producer',
  'office/producers/onboarding.producer.ts': 'a producer',
  'office/producers/recovery-sweep.producer.ts': 'a producer',
  'office/producers/task-lifecycle.producer.ts': 'a producer',
  'office/producers/workflow-auto-start.producer.ts': 'a producer',
  'office/producers/produced-wake.ts': 'the type of what producers make',
  'office/dedup-keys.ts': 'the shapes of keys',
  'runs/wake-reason.ts': 'the list of reasons',
  'runs/runs.repository.ts': 'the count of the allowance',
  'scheduler/gates/assignment-allowance.gate.ts': 'the scope of the allowance',
  'http/wake-requests.ts': 'refuses the reason to agents',
};

/** Whoever asks the scheduler for a wake, and where the reason comes from. */
const ASK_FOR_WAKES: Readonly<Record<string, string>> = {
  'office/reactivity/reactivity.service.ts': 'the note of a mutation, written by a producer or a rule',
  'office/recovery/recovery-sweep.ts': 'its producer',
  'http/wakes.controller.ts': 'a caller outside',
};

/** A source file, by its path under src/. */
interface Source {
  readonly path: string;
  readonly tree: ts.SourceFile;
}

const sources: readonly Source[] = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(SOURCES, path), 'utf8');
    return { path, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
  });

/** The paths of the files that have a node of which `is` holds. Comments are no nodes. */
function filesWith(is: (node: ts.Node) => boolean): readonly string[] {
  const has = (node: ts.Node): boolean => is(node) || (ts.forEachChild(node, has) ?? false);
  return sources.filter(({ tree }) => has(tree)).map(({ path }) => path);
}

function saysTheReason(node: ts.Node): boolean {
  const isText =
    ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
  return isText && node.text.includes('task_assigned');
}

/** An import of types alone brings nobody a producer. */
function importsAProducer(node: ts.Node): boolean {
  if (!ts.isImportDeclaration(node) || node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    return false;
  return ts.isStringLiteral(node.moduleSpecifier) && node.moduleSpecifier.text.endsWith('.producer.js');
}

function asksForAWake(node: ts.Node): boolean {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const { expression: door, name } = node.expression;
  const isScheduler = ts.isPropertyAccessExpression(door) && door.name.text === 'scheduler';
  return isScheduler && ['queueRun', 'queueRuns'].includes(name.text);
}

function calls(producer: string): (node: ts.Node) => boolean {
  return (node) =>
    ts.isPropertyAccessExpression(node) &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === 'ASSIGNMENT_PRODUCERS' &&
    node.name.text === producer;
}

describe('the sources', () => {
  it('AC-OFFICE-ASSIGN-RATE-001.12 name task_assigned in the producers and where it is accounted for, nowhere else', () => {
    expect([...filesWith(saysTheReason)].sort()).toEqual(Object.keys(SPEAK_OF_IT).sort());
  });

  it('AC-OFFICE-ASSIGN-RATE-001.12 reach a producer only through the list of them', () => {
    expect(filesWith(importsAProducer)).toEqual(['office/producers/producers.ts']);
  });

  it('AC-OFFICE-ASSIGN-RATE-001.12 list every producer that there is a file of', () => {
    const files = sources.filter(({ path }) => path.endsWith('.producer.ts'));
    expect(PRODUCERS).toHaveLength(files.length);
  });

  it.each(PRODUCERS)('AC-OFFICE-ASSIGN-RATE-001.12 call %s in one place', (producer) => {
    expect(filesWith(calls(producer))).toHaveLength(1);
  });

  it('AC-OFFICE-ASSIGN-RATE-001.12 ask for wakes in as many places as are accounted for', () => {
    expect([...filesWith(asksForAWake)].sort()).toEqual(Object.keys(ASK_FOR_WAKES).sort());
  });
});
