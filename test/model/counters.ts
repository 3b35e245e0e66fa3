import type { TestingModuleBuilder } from '@nestjs/testing';
import { MetricsService } from '../../src/metrics/metrics.service.js';
import { RunGauges } from '../../src/runs/run-gauges.repository.js';
import type { TestReveille } from '../support/reveille.js';

/** The families that the models keep, and the labels by which they tell their samples apart. */
const FAMILIES: Readonly<Record<string, readonly [string, ...string[]]>> = {
  office_wake_decisions_total: ['decisions', 'outcome'],
  office_assignment_rate_limit_total: ['allowance', 'reason'],
  office_run_dedup_total: ['dedup', 'reason', 'kind'],
  office_run_dedup_keyless_total: ['keyless', 'reason', 'cause'],
};

/** The counters that the models keep, in their words. */
export async function countersOf(reveille: TestReveille): Promise<ReadonlyMap<string, number>> {
  const text = await reveille.get(MetricsService).text();
  const found = new Map<string, number>();
  for (const [, name = '', labels = '', value] of text.matchAll(/^(office_\w+)\{([^}]*)\} (\d+)$/gm)) {
    const [family, ...wanted] = FAMILIES[name] ?? [];
    if (family === undefined || labels.includes('queue="wakeup"')) continue;
    const label = (one: string) => new RegExp(`${one}="([^"]*)"`).exec(labels)?.[1] ?? '';
    found.set([family, ...wanted.map(label)].join(' '), Number(value));
  }
  return found;
}

/** Those that have moved, and by how much. */
export function moved(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const moves = [...now].map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const);
  return new Map(moves.filter(([, difference]) => difference !== 0).sort());
}

/** Every look at the counters would count all rows of all sequences for the gauges, which are not under test here. */
export function withoutGauges(builder: TestingModuleBuilder): TestingModuleBuilder {
  const nothing = {
    counts: () => Promise.resolve({ queued: 0, claimed: 0 }),
    oldestQueuedAt: () => Promise.resolve(null),
    oldestDueAt: () => Promise.resolve(null),
  };
  return builder.overrideProvider(RunGauges).useValue(nothing);
}
