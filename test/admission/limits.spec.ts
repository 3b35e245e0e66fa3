import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_OPTIONS } from '../../src/config/options.js';
import * as limits from '../../src/scheduler/admission-limits.js';
import { lastingDatabase, onEachDatabase } from '../support/databases.js';
import { TestReveille } from '../support/reveille.js';
import { Workplace } from '../support/wakes.js';

const ROOT = join(__dirname, '../..');
const HOME = 'src/scheduler/admission-limits.ts';

const sources = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));

const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe('the numbers of admission', () => {
  it('AC-OFFICE-ASSIGN-RATE-002.6 are those of the requirements: N and W, with N at least 1', () => {
    const text = textOf('docs/requirements/assignment-rate.md');
    const { groups } = /`N` = (?<n>\d+) admitted\s+wakes .* `W` = (?<w>\d+) minutes/s.exec(text) ?? {};
    expect(limits.ALLOWANCE_LIMIT).toBe(Number(groups?.['n']));
    expect(limits.ALLOWANCE_WINDOW_MS).toBe(Number(groups?.['w']) * 60_000);
    expect(limits.ALLOWANCE_LIMIT).toBeGreaterThanOrEqual(1);
  });

  it('AC-OFFICE-ASSIGN-RATE-002.6 are declared once, all in one place', () => {
    for (const name of Object.keys(limits)) {
      const declares = new RegExp(`\\b(const|let|var) ${name}\\b`);
      expect(sources('src').filter((file) => declares.test(textOf(file)))).toEqual([HOME]);
    }
    expect(Object.keys(limits).sort()).toEqual([
      'ALLOWANCE_LIMIT',
      'ALLOWANCE_WINDOW_MS',
      'COALESCING_WINDOW_MS',
      'COMMENT_KEY_PREFIX',
      'IDEMPOTENCY_WINDOW_MS',
    ]);
  });

  it('AC-OFFICE-ASSIGN-RATE-002.6 are imported by the tests that need them, never declared again', () => {
    const declares = /\b(const|let|var) (ALLOWANCE|COALESCING|IDEMPOTENCY)_\w+ =/;
    expect(sources('test').filter((file) => declares.test(textOf(file)))).toEqual([]);
    const users = sources('test/admission').filter((file) =>
      /\b(ALLOWANCE|COALESCING|IDEMPOTENCY)_/.test(textOf(file)),
    );
    expect(users.length).toBeGreaterThan(1);
    for (const file of users) expect(textOf(file)).toContain('scheduler/admission-limits.js');
  });

  it('AC-OFFICE-ASSIGN-RATE-002.6 are moved by no setting', () => {
    const words = /allowance|limit|window|coalesc|idempoten/i;
    expect(Object.keys(DEFAULT_OPTIONS).filter((option) => words.test(option))).toEqual([]);
    expect(textOf('src/config/read-environment.ts')).not.toMatch(/allowance|coalesc|idempoten/i);
  });
});

onEachDatabase('a server that is started again', (database) => {
  it('AC-OFFICE-ASSIGN-RATE-002.4 still refuses: what was admitted is in the database, not in the process', async () => {
    const home = await lastingDatabase(database);
    const first = await TestReveille.start(database, { databaseUrl: home.url });
    const office = await Workplace.open(first);
    await office.exhaust();
    const { clock } = first;
    await first.stop();
    const second = await TestReveille.start(database, { databaseUrl: home.url });
    second.clock.set(clock.now());
    expect(await office.at(second).wake()).toMatchObject({ outcome: 'rate_limited' });
    second.clock.advance(limits.ALLOWANCE_WINDOW_MS);
    expect(await office.at(second).wake()).toMatchObject({ outcome: 'queued' });
    await second.stop();
    await home.drop();
  });
});
