import { AgentNotRunnableError } from '../../src/agents/agent.errors.js';
import { AgentsService } from '../../src/agents/agents.service.js';
import type { AdmissionGate } from '../../src/scheduler/admission-gate.js';
import { GATE_NAMES } from '../../src/scheduler/admission-gate.js';
import { ALLOWANCE_LIMIT } from '../../src/scheduler/admission-limits.js';
import { ADMISSION_GATES, ADMISSION_ORDER } from '../../src/scheduler/admission-order.js';
import { WorkspacePausedError } from '../../src/workspaces/workspace.errors.js';
import { WorkspacesService } from '../../src/workspaces/workspaces.service.js';
import { onEachDatabase } from '../support/databases.js';
import { SHAPES } from '../support/failing-statement.js';
import { movedBy } from '../support/metrics.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { statementsOf } from '../support/statements.js';
import { Workplace, agentAssignment } from '../support/wakes.js';

const OPERATOR = { kind: 'user', id: 'an-operator' };

onEachDatabase('the order of admission', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));
  const gates = () => reveille().app.get<readonly AdmissionGate[]>(ADMISSION_GATES, { strict: false });
  const open = () => Workplace.open(reveille());
  const pause = (workspaceId: string) =>
    reveille().get(WorkspacesService).pause(workspaceId, 'a drill', OPERATOR);
  const setStatus = (id: string, status: 'idle' | 'paused' | 'stopped' | 'pending_approval') =>
    reveille().get(AgentsService).update(id, { status });

  describe('as a list', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.5 stands in one list: status, pause, key, coalescing, allowance', () => {
      expect(ADMISSION_ORDER.map(({ name }) => name)).toEqual([
        'AgentStatusGate',
        'WorkspacePauseGate',
        'IdempotencyGate',
        'CoalescingGate',
        'AssignmentAllowanceGate',
      ]);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 is the order in force, with the insert after all gates', () => {
      expect([...gates().map(({ name }) => name), 'insert']).toEqual(GATE_NAMES);
      expect(gates().map(({ constructor }) => constructor)).toEqual(ADMISSION_ORDER);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 is the order in which the facts are asked for', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const sent = await statementsOf(reveille(), () => office.wake({ agentProfileId, idempotencyKey: 'k' }));
      const { agent, pause: pauses, key, mergedKey, mergeTarget, count, insert } = SHAPES;
      const steps = [agent, pauses, key, mergedKey, mergeTarget, count, insert];
      const asked = sent.map(({ sql }) => steps.findIndex((shape) => shape.test(sql)));
      expect(asked.filter((step) => step !== -1)).toEqual(steps.map((_, step) => step));
    });
  });

  describe('at the agent’s status', () => {
    it.each(['paused', 'stopped', 'pending_approval'] as const)(
      'AC-OFFICE-ASSIGN-RATE-001.5 fails for an agent that is %s before anything else is asked',
      async (status) => {
        const office = await open();
        const agentProfileId = await office.agent();
        await setStatus(agentProfileId, status);
        const sent = await statementsOf(reveille(), async () => {
          const wake = office.wake({ agentProfileId, idempotencyKey: 'k' });
          await expect(wake).rejects.toThrow(AgentNotRunnableError);
          await expect(wake).rejects.toMatchObject({ code: 'agent_not_runnable', agentProfileId, status });
          await expect(wake).rejects.toThrow(agentProfileId);
        });
        const { pause: pauses, key, mergeTarget, count, insert } = SHAPES;
        for (const shape of [pauses, key, mergeTarget, count, insert])
          expect(sent.filter(({ sql }) => shape.test(sql))).toEqual([]);
        expect(await office.runs()).toEqual([]);
      },
    );

    it('AC-OFFICE-ASSIGN-RATE-001.5 lets an idle agent pass, and one that is at work', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const first = await office.queued({ agentProfileId });
      await office.alter(first.id, { status: 'claimed', claimed_at: reveille().clock.now() });
      expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'queued' });
      expect(await office.runs()).toHaveLength(2);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 lets an agent pass again that is idle again', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      await setStatus(agentProfileId, 'paused');
      await expect(office.wake({ agentProfileId })).rejects.toThrow(AgentNotRunnableError);
      await setStatus(agentProfileId, 'idle');
      expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'queued' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 fails for an agent nobody knows, and for one that is deleted', async () => {
      const office = await open();
      const deleted = await office.agent();
      await office.sql('UPDATE agents SET deleted_at = 1 WHERE id = $1', [deleted]);
      for (const agentProfileId of ['nobody', deleted, '']) {
        const wake = office.wake({ agentProfileId });
        await expect(wake).rejects.toMatchObject({ code: 'agent_not_runnable', status: 'unknown' });
      }
      expect(await office.runs()).toEqual([]);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 merges nothing into the queued run of an agent that was stopped since', async () => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: 'k' });
      await setStatus(run.agentProfileId, 'stopped');
      const { agentProfileId } = run;
      await expect(office.wake({ agentProfileId })).rejects.toThrow(AgentNotRunnableError);
      await expect(office.wake({ agentProfileId, idempotencyKey: 'k' })).rejects.toThrow(
        AgentNotRunnableError,
      );
      expect(await office.runs()).toEqual([run]);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 reads the agent once for a wake', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      const sent = await statementsOf(reveille(), () => office.wake({ agentProfileId }));
      expect(sent.filter(({ sql }) => SHAPES.agent.test(sql))).toHaveLength(1);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 names the agent’s status before the workspace’s pause', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      await setStatus(agentProfileId, 'paused');
      await pause(office.workspaceId);
      await expect(office.wake({ agentProfileId })).rejects.toThrow(AgentNotRunnableError);
    });
  });

  describe('at the workspace’s pause', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.5 fails in a paused workspace, and passes once it is resumed', async () => {
      const office = await open();
      const agentProfileId = await office.agent();
      await pause(office.workspaceId);
      const wake = office.wake({ agentProfileId, payload: '{}' });
      await expect(wake).rejects.toThrow(WorkspacePausedError);
      await expect(wake).rejects.toMatchObject({ code: 'workspace_paused' });
      expect(await office.runs()).toEqual([]);
      await reveille().get(WorkspacesService).resume(office.workspaceId, OPERATOR);
      expect(await office.wake({ agentProfileId, payload: '{}' })).toMatchObject({ outcome: 'queued' });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 asks once, for the agent’s own workspace, whatever task the payload names', async () => {
      const [mine, other] = [await open(), await open()];
      const agentProfileId = await mine.agent();
      await pause(other.workspaceId);
      const sent = await statementsOf(reveille(), async () => {
        const wake = mine.wake({ agentProfileId, payload: agentAssignment(other.taskId) });
        expect(await wake).toMatchObject({ outcome: 'queued' });
      });
      const asked = sent.filter(({ sql }) => SHAPES.pause.test(sql));
      expect(asked.map(({ parameters }) => parameters)).toEqual([[mine.workspaceId]]);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 wins over a key that is known and over a run to merge into', async () => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: 'k' });
      await pause(office.workspaceId);
      for (const idempotencyKey of ['k', null]) {
        const wake = office.wake({ agentProfileId: run.agentProfileId, idempotencyKey });
        await expect(wake).rejects.toThrow(WorkspacePausedError);
      }
      expect(await office.runs()).toEqual([run]);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 wins over an exhausted allowance, whose counter does not move', async () => {
      const office = await open();
      const runs = await office.exhaust();
      await pause(office.workspaceId);
      const moved = await movedBy(reveille(), 'office_assignment_rate_limit_total', async () => {
        await expect(office.wake()).rejects.toThrow(WorkspacePausedError);
      });
      expect(moved).toEqual({});
      expect(await office.runs()).toEqual(runs);
    });
  });

  describe('with the allowance exhausted', () => {
    it('AC-OFFICE-ASSIGN-RATE-001.5 recognises a redelivery instead of refusing it', async () => {
      const office = await open();
      await office.spend(ALLOWANCE_LIMIT - 1);
      const run = await office.queued({ idempotencyKey: 'k' });
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      expect(await office.wake({ idempotencyKey: 'k' })).toEqual({
        outcome: 'deduped',
        admitted: false,
        runId: run.id,
        runStatus: 'queued',
        gate: 'idempotency',
        allowance: null,
      });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 merges instead of refusing', async () => {
      const office = await open();
      const { agentProfileId, id } = pick(await office.exhaust());
      expect(await office.wake()).toMatchObject({ outcome: 'rate_limited' });
      expect(await office.wake({ agentProfileId })).toEqual({
        outcome: 'coalesced',
        admitted: false,
        runId: id,
        runStatus: 'queued',
        gate: 'coalescing',
        allowance: null,
      });
      expect(await office.run(id)).toMatchObject({ coalescedCount: 2 });
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 does not ask the allowance about a wake that was decided before', async () => {
      const office = await open();
      const { agentProfileId } = await office.queued({ idempotencyKey: 'k' });
      const sent = await statementsOf(reveille(), async () => {
        expect(await office.wake({ agentProfileId, idempotencyKey: 'k' })).toMatchObject({
          outcome: 'deduped',
        });
        expect(await office.wake({ agentProfileId })).toMatchObject({ outcome: 'coalesced' });
      });
      expect(sent.filter(({ sql }) => SHAPES.count.test(sql))).toEqual([]);
    });

    it('AC-OFFICE-ASSIGN-RATE-001.5 recognises a redelivery before it looks for a run to merge into', async () => {
      const office = await open();
      const run = await office.queued({ idempotencyKey: 'k' });
      const redelivery = { agentProfileId: run.agentProfileId, idempotencyKey: 'k' };
      expect(await office.wake(redelivery)).toMatchObject({ outcome: 'deduped', gate: 'idempotency' });
      expect(await office.run(run.id)).toEqual(run);
      expect(await office.wake({ ...redelivery, idempotencyKey: 'another' })).toMatchObject({
        outcome: 'coalesced',
      });
    });
  });
});
