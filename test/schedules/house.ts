import { PostgresDialect } from '../../src/database/dialects/postgres.dialect.js';
import { PostgresTransactions } from '../../src/database/postgres-transactions.js';
import { DecisionsService } from '../../src/decisions/decisions.service.js';
import { EventLog } from '../../src/events/event-log.js';
import { EventSequencer } from '../../src/events/event-sequencer.js';
import { MetricsService } from '../../src/metrics/metrics.service.js';
import { Ids } from '../../src/random/ids.js';
import { RunSignal } from '../../src/runs/run-signal.js';
import { RunWakes } from '../../src/runs/run-wakes.js';
import { Admission } from '../../src/scheduler/admission.js';
import { AdmissionLocks } from '../../src/scheduler/admission-locks.js';
import { ADMISSION_ORDER } from '../../src/scheduler/admission-order.js';
import { AdmissionReports } from '../../src/scheduler/admission-reports.js';
import { AdmissionTelemetry } from '../../src/scheduler/admission-telemetry.js';
import { SilentChannel } from '../../src/database/channel.js';
import { Explainer } from '../../src/scheduler/explainer.js';
import { RunQueue } from '../../src/scheduler/run-queue.js';
import { SchedulerService } from '../../src/scheduler/scheduler.service.js';
import { StepwiseFacts } from '../../src/scheduler/stepwise-facts.js';
import { FakeClock } from '../../src/testing.js';
import { ResumeSignal } from '../../src/workspaces/resume-signal.js';
import { WorkspacesService } from '../../src/workspaces/workspaces.service.js';
import { MemoryClaims } from './store/memory-claims.js';
import { MemoryDataSource } from './store/memory-connections.js';
import { MemoryAgents, MemoryWorkspaces } from './store/memory-office.js';
import { MemoryDecisions, MemoryEvents } from './store/memory-records.js';
import { MemoryRuns } from './store/memory-runs.js';

/**
 * The real admission, put together as its modules do, over stores in memory. Put together once: every asynchronous
 * context that it makes for itself is carried along by every promise from then on.
 */
export class House {
  readonly clock = new FakeClock();
  readonly source = new MemoryDataSource();
  readonly transactions = new PostgresTransactions(this.source.asDataSource());
  readonly claims = new MemoryClaims(this.transactions);
  readonly scheduler: SchedulerService;
  readonly workspaces: WorkspacesService;
  readonly wakes: RunWakes;

  constructor() {
    const { transactions, clock } = this;
    const dialect = new PostgresDialect();
    const ids = new Ids(clock);
    const agents = new MemoryAgents(transactions, dialect);
    const workspaces = new MemoryWorkspaces(transactions);
    const runs = new MemoryRuns(transactions);
    const stored = new MemoryEvents(transactions);
    const events = new EventLog(transactions, stored, new NoSequencer(transactions, stored), clock, ids);
    const gates = ADMISSION_ORDER.map((Gate) => new Gate());
    const queue = new RunQueue(transactions, dialect, runs, events, new RunSignal(new SilentChannel()), ids);
    const decisions = new DecisionsService(transactions, new MemoryDecisions(transactions), clock, ids);
    const telemetry = new AdmissionTelemetry(new MetricsService());
    this.scheduler = new SchedulerService(
      transactions,
      new AdmissionLocks(transactions, dialect),
      new StepwiseFacts(transactions, dialect, agents, workspaces, runs),
      new Admission(gates),
      queue,
      new Explainer(gates, queue),
      new AdmissionReports(transactions, dialect, decisions, telemetry, agents),
      clock,
    );
    this.workspaces = new WorkspacesService(
      transactions,
      dialect,
      workspaces,
      events,
      new ResumeSignal(new SilentChannel()),
      clock,
      ids,
    );
    this.wakes = new RunWakes(runs);
  }
}

/** Events are numbered long after a wake was decided, and nothing that is shown here depends on it. */
class NoSequencer extends EventSequencer {
  override request(): void {
    // Nobody reads the log.
  }
}
