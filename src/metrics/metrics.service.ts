import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ClosedCounter, type ClosedLabels, combinations } from './closed-counter.js';

interface MetricName {
  readonly name: string;
  readonly help: string;
}

/** Bounds of our histograms, in seconds: from a fast read to a wait that somebody notices. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/**
 * Makes metrics and writes them out. Each instance has a registry of its own: two Reveilles in one process do not
 * count for each other.
 */
@Injectable()
export class MetricsService {
  private readonly registry = new Registry();

  readonly contentType = this.registry.contentType;

  counter<const L extends ClosedLabels>(metric: MetricName, labels: L): ClosedCounter<L> {
    const counter = new Counter({ ...metric, labelNames: Object.keys(labels), registers: [this.registry] });
    return new ClosedCounter(counter, labels);
  }

  /** A histogram of seconds; with labels, one for each value of their closed sets. */
  seconds(metric: MetricName, labels: ClosedLabels = {}): Histogram {
    const histogram = new Histogram({
      ...metric,
      labelNames: Object.keys(labels),
      buckets: SECONDS,
      registers: [this.registry],
    });
    for (const values of combinations(labels)) histogram.zero(values);
    return histogram;
  }

  /** A gauge that is read when somebody looks. */
  gauge(metric: MetricName, labels: ClosedLabels, read: (gauge: Gauge) => Promise<void>): void {
    const gauge: Gauge = new Gauge({
      ...metric,
      labelNames: Object.keys(labels),
      registers: [this.registry],
      collect: () => read(gauge),
    });
  }

  /** Everything in Prometheus's text format. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}
