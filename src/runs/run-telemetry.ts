import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.js';
import { secondsSince } from '../metrics/seconds.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { RETRY_CAUSES, type RetryCause } from './retry-policy.js';
import { RunGauges } from './run-gauges.repository.js';

const ENDED = ['finished', 'failed', 'cancelled'] as const;
const LOST = ['queued', 'failed'] as const;

/** What is counted about runs. */
@Injectable()
export class RunTelemetry {
  private readonly endings;
  private readonly wait;
  private readonly claims;
  private readonly retries;

  constructor(metrics: MetricsService, gauges: RunGauges, clock: Clock) {
    this.endings = metrics.counter(
      { name: 'office_runs_finished_total', help: 'Runs that have ended, by how.' },
      { status: ENDED },
    );
    this.claims = claimCounters(metrics);
    this.retries = metrics.counter(
      { name: 'office_run_retries_total', help: 'Runs that are tried again, by what sets the instant.' },
      { cause: RETRY_CAUSES },
    );
    this.wait = metrics.seconds({
      name: 'office_run_wait_seconds',
      help: 'Time from a run being requested to its claim, in seconds.',
    });
    publishCounts(metrics, gauges);
    publishWaits(metrics, gauges, clock);
  }

  claimed(waitMs: number): void {
    this.wait.observe(Math.max(0, waitMs) / 1000);
  }

  ended(status: (typeof ENDED)[number]): void {
    this.endings.increment({ status });
  }

  claimDeferred(): void {
    this.claims.deferred.increment({});
  }

  retried(cause: RetryCause): void {
    this.retries.increment({ cause });
  }

  leaseLost(outcome: (typeof LOST)[number]): void {
    this.claims.leases.increment({ outcome });
  }

  claimLost(): void {
    this.claims.lost.increment({});
  }
}

function claimCounters(metrics: MetricsService) {
  return {
    lost: metrics.counter(
      {
        name: 'office_claims_lost_total',
        help: 'Reports refused because their claim no longer held the run.',
      },
      {},
    ),
    leases: metrics.counter(
      {
        name: 'office_leases_lost_total',
        help: 'Claimed runs taken back from workers that were not heard of in time, by what became of them.',
      },
      { outcome: LOST },
    ),
    deferred: metrics.counter(
      {
        name: 'office_claims_deferred_total',
        help: 'Claims that came back empty because whether a workspace is paused could not be read.',
      },
      {},
    ),
  };
}

function publishCounts(metrics: MetricsService, gauges: RunGauges): void {
  metrics.gauge(
    { name: 'office_runs', help: 'Runs that have not ended.' },
    { status: ['queued', 'claimed'] },
    async (gauge) => {
      const counts = await gauges.counts();
      gauge.set({ status: 'queued' }, counts.queued);
      gauge.set({ status: 'claimed' }, counts.claimed);
    },
  );
}

function publishWaits(metrics: MetricsService, gauges: RunGauges, clock: Clock): void {
  metrics.gauge(
    {
      name: 'office_runs_oldest_queued_seconds',
      help: 'Age of the oldest queued run, in seconds; 0 when there is none.',
    },
    {},
    async (gauge) => {
      gauge.set(secondsSince(await gauges.oldestQueuedAt(), clock.now()));
    },
  );
  metrics.gauge(
    {
      name: 'office_runs_oldest_due_seconds',
      help: 'How long the run has been due that waits longest, no retry, pause or agent’s status holding it back, in seconds; 0 when there is none.',
    },
    {},
    async (gauge) => {
      const now = clock.now();
      gauge.set(secondsSince(await gauges.oldestDueAt(now), now));
    },
  );
}
