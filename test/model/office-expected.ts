import type { OfficeModel } from './office-model.js';
import type { ModelRun } from './admission-model.js';
import { type StoredOffice, inOrder } from './office-stored.js';

/** What of an office must be stored, in the words and the order of {@link StoredOffice}. */
export function expectedOffice(model: OfficeModel): Omit<StoredOffice, 'runIds'> {
  const { admission, tasks, notes } = model;
  const name = (agent: number | null) => (agent === null ? null : model.agents[agent]);
  return {
    tasks: tasks.all.map(({ id, state, assignee, generation, updatedAt }) => [
      id,
      state,
      name(assignee),
      generation,
      updatedAt,
    ]),
    notes: notes.map(({ taskId, generation, agent, reason, payload, key, dueAt, createdAt }) => [
      taskId,
      generation,
      name(agent),
      reason,
      payload,
      key,
      dueAt,
      createdAt,
    ]),
    runs: admission.runs.map((run) => runRow(run, model)),
    ledger: inOrder(
      admission.ledger.map(({ run, payload, key, at }) => [run.number, read(payload), key, at]),
    ),
    decisions: admission.decisions.map((kept) => {
      const { agent, taskId, reason, outcome, error, firstAt, lastAt, count } = kept;
      return [name(agent), taskId, reason, outcome, error, firstAt, lastAt, count];
    }),
  };
}

function runRow(run: ModelRun, model: OfficeModel): readonly unknown[] {
  const { agent, reason, payload, taskId, status, count, key, at } = run;
  const { attempt, retryCount, leaseEnd, cancelReason, isConclusive, isInterrupted } = model.runs.fateOf(run);
  const wake = [model.agents[agent], reason, read(payload), taskId, payload.actorType, payload.actorId];
  const held = [leaseEnd, cancelReason, isConclusive, isInterrupted];
  return [...wake, status, count, key, at, attempt, retryCount, run.retryAt, ...held];
}

function read({ text }: ModelRun['payload']): unknown {
  return JSON.parse(text);
}
