import { MetricsService } from '../../src/metrics/metrics.service.js';
import type { TestReveille } from './reveille.js';

/** A family's samples: the text of the labels as published, and the value. */
export type Samples = ReadonlyMap<string, number>;

const SAMPLE = /^(?<name>[a-z_]+)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;

/** The samples of one metric as they are published now. */
export async function samplesOf(reveille: TestReveille, name: string): Promise<Samples> {
  return parse(await reveille.get(MetricsService).text(), name);
}

/** Reads one metric from Prometheus's text format. */
export function parse(text: string, name: string): Samples {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    const { groups } = SAMPLE.exec(line) ?? {};
    if (groups?.['name'] === name) samples.set(groups['labels'] ?? '', Number(groups['value']));
  }
  return samples;
}

/** Runs `work` and answers which samples of a metric it moved, and by how much. */
export async function movedBy(
  reveille: TestReveille,
  name: string,
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = await samplesOf(reveille, name);
  await work();
  const after = await samplesOf(reveille, name);
  const moves = [...after].map(([labels, value]) => [labels, value - (before.get(labels) ?? 0)] as const);
  return Object.fromEntries(moves.filter(([, by]) => by !== 0));
}
