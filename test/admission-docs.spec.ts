import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { GATE_NAMES } from '../src/scheduler/admission-gate.js';
import { ADMISSION_ORDER } from '../src/scheduler/admission-order.js';
import { useReveille, TestReveille } from './support/reveille.js';

describe('docs/admission.md', () => {
  const reveille = useReveille(() => TestReveille.start('sqlite'));

  it('has the gates, their order and how they fail as the code has them', async () => {
    const text = await readFile(resolve(__dirname, '../docs/admission.md'), 'utf8');
    const rows = [...text.matchAll(/^\| \d +\| `(\w+)`.*\| `(\w+)` *\|$/gm)].map(([, name, stance]) => [
      name,
      stance,
    ]);
    const gates = ADMISSION_ORDER.map((gate) => reveille().get(gate)).map(({ name, onReadFailure }) => [
      name,
      onReadFailure,
    ]);
    expect(rows).toEqual([...gates, ['insert', 'raise']]);
    expect(rows.map(([name]) => name)).toEqual([...GATE_NAMES]);
  });
});
