import type { Counter } from 'prom-client';

/** A counter's labels and, for each, every value it can take. */
export type ClosedLabels = Readonly<Record<string, readonly string[]>>;

/** One value for each label. */
export type LabelValues<L extends ClosedLabels> = { readonly [K in keyof L]: L[K][number] };

/**
 * A counter whose label values come from closed sets, so that it cannot grow with its input, and stand at 0 from the
 * start, so that a rate over the first increase is right.
 */
export class ClosedCounter<L extends ClosedLabels> {
  constructor(
    private readonly counter: Counter,
    labels: L,
  ) {
    for (const values of combinations(labels)) counter.inc(values, 0);
  }

  increment(values: LabelValues<L>): void {
    this.counter.inc(values);
  }
}

/** Every combination of one value for each label. */
export function combinations(labels: ClosedLabels): readonly Record<string, string>[] {
  return Object.entries(labels).reduce<Record<string, string>[]>(
    (sofar, [label, values]) =>
      sofar.flatMap((given) => values.map((value) => ({ ...given, [label]: value }))),
    [{}],
  );
}
