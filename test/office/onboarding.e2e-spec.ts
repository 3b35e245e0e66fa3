import { RunSignal } from '../../src/runs/run-signal.js';
import type { Task } from '../../src/tasks/task.schema.js';
import type { Api } from '../support/api.js';
import { onEachDatabase } from '../support/databases.js';
import { SHAPES, whileFailing } from '../support/failing-statement.js';
import { OfficeScene, type Reaction } from '../support/office-scene.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { statementsOf } from '../support/statements.js';

interface Onboarded {
  readonly task: Task;
  readonly reaction: Reaction;
}

const TASK_INSERT = /^INSERT INTO "tasks"/;
const RUN_OR_DECISION_INSERT = /^INSERT INTO "(runs|decisions)"/;

onEachDatabase('onboarding a coordinator', (database) => {
  const reveille = useReveille(() => TestReveille.serve(database));

  /** An office in which there is nothing yet but its task, and what onboards its first agent. */
  const scene = async () => {
    const opened = await OfficeScene.open(reveille());
    const { user, workspaceId } = opened.office;
    const onboard = (by: Api = user, agentProfileId = opened.agent()) =>
      by.post<Onboarded>(`/v1/workspaces/${workspaceId}/onboarding`, { agentProfileId, title: 'Start' });
    return { scene: opened, onboard };
  };

  /** How many signals were sent to claimers during `work`. */
  const signalsOf = async (work: () => Promise<unknown>) => {
    let signals = 0;
    const quiet = reveille()
      .get(RunSignal)
      .listen(() => (signals += 1));
    await work().finally(quiet);
    return signals;
  };

  it('creates an office task for it and wakes it once, with one signal', async () => {
    const { scene: office, onboard } = await scene();
    expect(await signalsOf(onboard)).toBe(1);
    const runs = await office.runs();
    expect(runs).toMatchObject([
      { agentProfileId: office.agent(), reason: 'task_assigned', coalescedCount: 1 },
    ]);
    const taskId = runs[0]?.taskId ?? '';
    expect(runs[0]?.payload).toBe(JSON.stringify({ task_id: taskId }));
    expect(await office.task(taskId)).toMatchObject({
      kind: 'office',
      title: 'Start',
      assigneeAgentProfileId: office.agent(),
      assignmentGeneration: 1,
    });
    expect(await office.notes()).toEqual([]);
    await office.sweep();
    expect(await office.runs()).toEqual(runs);
  });

  it('answers the task and what became of the wake', async () => {
    const { scene: office, onboard } = await scene();
    const { status, body } = await onboard();
    expect(status).toBe(201);
    expect(body.task).toMatchObject({ title: 'Start', assigneeAgentProfileId: office.agent() });
    const runs = await office.runs(body.task.id);
    expect(body.reaction).toEqual({
      reason: 'task_assigned',
      agentProfileId: office.agent(),
      outcome: 'queued',
      runId: runs[0]?.id,
      allowance: null,
      error: null,
    });
  });

  it('writes the task and the run in one transaction', async () => {
    const { onboard } = await scene();
    const sent = (await statementsOf(reveille(), onboard)).map(({ sql }) => sql);
    const written = sent.slice(
      sent.findIndex((sql) => sql.startsWith('INSERT INTO "tasks"')),
      sent.findIndex((sql) => SHAPES.insert.test(sql)),
    );
    expect(written).not.toEqual([]);
    expect(written.filter((sql) => /^(BEGIN|START TRANSACTION|COMMIT)/.test(sql))).toEqual([]);
  });

  it('leaves nothing behind when the task cannot be written', async () => {
    const { scene: office, onboard } = await scene();
    const created = (await office.events('task.created')).length;
    expect(await whileFailing(reveille(), TASK_INSERT, onboard)).toMatchObject({ status: 500 });
    expect(await office.runs()).toEqual([]);
    expect(await office.notes()).toEqual([]);
    expect(await office.events('task.created')).toHaveLength(created);
  });

  it.each([
    ['when its run cannot be written', SHAPES.insert],
    ['when that cannot even be kept as a decision', RUN_OR_DECISION_INSERT],
  ])('lets the task stand %s, and wakes once at the next sweep', async (_when, shape) => {
    const { scene: office, onboard } = await scene();
    let signals = 0;
    const { status, body } = await whileFailing(reveille(), shape, async () => {
      let answer = { status: 0, body: {} as Onboarded };
      signals = await signalsOf(async () => {
        answer = await onboard();
      });
      return answer;
    });
    expect(status).toBe(201);
    expect(body.reaction).toMatchObject({ outcome: 'none', runId: null, error: 'internal' });
    expect(signals).toBe(0);
    expect(await office.task(body.task.id)).toMatchObject({ assigneeAgentProfileId: office.agent() });
    expect(await office.runs()).toEqual([]);
    await office.sweep();
    await office.sweep();
    expect(await office.runs(body.task.id)).toMatchObject([{ coalescedCount: 1 }]);
    expect(await office.notes()).toEqual([]);
  });

  it('lets the task stand in a paused workspace, and wakes once after the resume', async () => {
    const { scene: office, onboard } = await scene();
    await office.pause();
    const { status, body } = await onboard();
    expect(status).toBe(201);
    expect(body.reaction).toMatchObject({ outcome: 'none', runId: null, error: 'workspace_paused' });
    await office.sweep();
    expect(await office.runs()).toEqual([]);
    await office.resume();
    await office.sweep();
    await office.sweep();
    expect(await office.runs(body.task.id)).toMatchObject([{ coalescedCount: 1 }]);
  });

  it('is for administrators and people of the workspace', async () => {
    const { scene: office, onboard } = await scene();
    const { scene: elsewhere } = await scene();
    for (const by of [office.asAgent(), office.office.worker])
      expect(await onboard(by)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(await onboard(elsewhere.office.user)).toMatchObject({ status: 404 });
    expect(await office.runs()).toEqual([]);
    for (const by of [office.office.admin, office.office.user])
      expect(await onboard(by)).toMatchObject({ status: 201 });
  });

  it('creates nothing for an agent that is not of the workspace', async () => {
    const { scene: office, onboard } = await scene();
    const { scene: elsewhere } = await scene();
    for (const agent of [elsewhere.agent(), 'nobody'])
      expect(await onboard(office.office.user, agent)).toMatchObject({ status: 404 });
    expect(await office.runs()).toEqual([]);
  });
});
