import fc from 'fast-check';
import { onEachDatabase } from '../support/databases.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { type Bench, answerOf, memoryBench, realBench } from './bench.js';
import { type Statement, insertions, statements } from './statements.js';
import { Undone, ignoreUndone } from './undone.js';

const SEQUENCES = 100;

/** A hundred transactions and more that wait for the disk. */
const PATIENCE_MS = 3 * 60_000;

/** A transaction: its statements, which of them are steps of their own, and how it ends. */
interface Unit {
  readonly statements: readonly { readonly statement: Statement; readonly isStep: boolean }[];
  readonly fails: boolean;
}

const units: fc.Arbitrary<Unit> = fc.record({
  statements: fc.array(
    fc.record({ statement: statements, isStep: fc.constantFrom(true, true, true, false) }),
    {
      minLength: 1,
      maxLength: 10,
      size: 'max',
    },
  ),
  fails: fc.constantFrom(false, false, false, true),
});

/** There must be something to be found: it is put there step by step, so that one clash does not undo it all. */
const furnishing: fc.Arbitrary<Unit> = fc
  .array(insertions, { minLength: 3, maxLength: 8, size: 'max' })
  .map((all) => ({ statements: all.map((statement) => ({ statement, isStep: true })), fails: false }));

onEachDatabase('the store in memory against the repositories', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const memory = memoryBench();
  let sequences = 0;

  it(
    'answers every sequence of statements as they do',
    async () => {
      const all = fc
        .tuple(furnishing, fc.array(units, { maxLength: 3, size: 'max' }))
        .map(([first, others]) => [first, ...others]);
      const property = fc.asyncProperty(all, async (sequence) => {
        const name = `s${sequences++}/`;
        const real = await answersOf(realBench(reveille()), name, sequence);
        expect(await answersOf(memory, name, sequence)).toEqual(real);
      });
      await fc.assert(property, { numRuns: SEQUENCES });
    },
    PATIENCE_MS,
  );
});

/** Carries out the units and answers what each statement answered; one that fails ends its unit unless it is a step. */
async function answersOf(bench: Bench, name: string, sequence: readonly Unit[]): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (const agent of ['a1', 'a2']) await bench.addAgent(name + agent, name);
  for (const unit of sequence) {
    const all = bench.transactions.run(async () => {
      for (const { statement, isStep } of unit.statements) {
        const work = () => statement.ask({ bench, name });
        if (isStep) answers.push(await answerOf(bench, () => bench.transactions.savepoint(work)));
        else answers.push(await work());
      }
      if (unit.fails) throw new Undone();
    });
    answers.push(await answerOf(bench, () => all.catch(ignoreUndone)));
  }
  return answers.map(oneOfItsTable);
}

/** A row that violates two indexes of its table is refused by either, and the databases do not agree by which. */
function oneOfItsTable(answer: unknown): unknown {
  return typeof answer === 'string'
    ? answer.replace(/^violates (runs|run_wakes|workspace_pauses)_.*/, 'violates $1')
    : answer;
}
