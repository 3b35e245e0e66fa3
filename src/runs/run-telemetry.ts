import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { RETRY_CAUSES, type RetryCause } from './retry-policy.js';
import { RunGauges } from './run-gauges.repository.js';

const ENDED = ['finished', 'failed', 'cancelled'] as const;

/** What is counted about runs. */
@Injectable()
export class RunTelemetry {
  private readonly endings;
  private readonly wait;
  private readonly lost;
  private readonly retries;

  constructor(metrics: MetricsService, gauges: RunGauges, clock: Clock) {
    this.endings = metrics.counter(
      { name: 'office_runs_finished_total', help: 'Runs that have ended, by how.' },
      { status: ENDED },
    );
    this.lost = metrics.counter(
      {
        name: 'office_claims_lost_total',
        help: 'Reports refused because their claim no longer held the run.',
      },
      {},
    );
    this.retries = metrics.counter(
      { name: 'office_run_retries_total', help: 'Runs that are tried again, by what sets the instant.' },
      { cause: RETRY_CAUSES },
    );
    this.wait = metrics.seconds({
      name: 'office_run_wait_seconds',
      help: 'Time from a run being requested to its claim, in seconds.',
    });
    addGauges(metrics, gauges, clock);
  }

  claimed(waitMs: number): void {
    this.wait.observe(Math.max(0, waitMs) / 1000);
  }

  ended(status: (typeof ENDED)[number]): void {
    this.endings.increment({ status });
  }

  retried(cause: RetryCause): void {
    this.retries.increment({ cause });
  }

  claimLost(): void {
    this.lost.increment({});
  }
}

function addGauges(metrics: MetricsService, gauges: RunGauges, clock: Clock): void {
  metrics.gauge(
    { name: 'office_runs', help: 'Runs that have not ended.' },
    { status: ['queued', 'claimed'] },
    async (gauge) => {
      const counts = await gauges.counts();
      gauge.set({ status: 'queued' }, counts.queued);
      gauge.set({ status: 'claimed' }, counts.claimed);
    },
  );
  metrics.gauge(
    {
      name: 'office_runs_oldest_queued_seconds',
      help: 'Age of the oldest queued run, in seconds; 0 when there is none.',
    },
    {},
    async (gauge) => {
      const oldest = await gauges.oldestQueuedAt();
      gauge.set(oldest === null ? 0 : Math.max(0, clock.now() - oldest) / 1000);
    },
  );
}
