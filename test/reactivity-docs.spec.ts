import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ASSIGNMENT_PRODUCERS } from '../src/office/producers/producers.js';
import { LEASE_MS } from '../src/office/reactivity/note-book.js';
import { STATUS_RULES } from '../src/office/reactivity/status-rules.js';
import { WAKE_REASONS } from '../src/runs/wake-reason.js';
import { Sweeps } from '../src/worker/sweeps.service.js';
import { movedBy } from './support/metrics.js';
import { type Office, anOffice } from './support/office.js';
import { pick } from './support/pick.js';
import { RecordingLogger } from './support/recording-logger.js';
import { spendRetries } from './support/retries.js';
import { TestReveille, useReveille } from './support/reveille.js';
import { assign, block, comment, keptBy, newTask, patch, seat } from './support/tasks.js';
import { beginTurn } from './support/turns.js';

/** A line of the table. */
interface Row {
  readonly happening: string;
  readonly who: string;
  readonly reason: string;
  readonly key: string;
}

/** What somebody does, and the names by which the table speaks of it. */
interface Happening {
  /** Whoever the table calls so. */
  readonly people: Readonly<Record<string, readonly string[]>>;
  /** What stands for the placeholders of the keys. */
  readonly names: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  readonly happen: () => Promise<unknown>;
  /** Reasons that are another row's to tell. */
  readonly besides?: readonly string[];
}

const RECOVERABLE_AFTER_MS = 2 * 60_000;

const TEXT = readFileSync(resolve(__dirname, '../docs/reactivity.md'), 'utf8');

const bare = (cell: string) => cell.replaceAll('`', '').trim();

const ROWS: readonly Row[] = TEXT.split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').slice(1, -1))
  .map(([rule = '', , who = '', reason = '', key = '']) => ({
    happening: rule.trim(),
    who: who.trim(),
    reason: bare(reason),
    key: key.trim(),
  }));

/** The name that a rule has in the code stands in front of what the table says about it. */
const ruleOf = ({ happening }: Row) => /^`([^`]+)`/.exec(happening)?.[1];

/** The rules that are no entry of a list. */
const OTHER_RULES = ['unassigned', 'comment', 'agentError'];

/** Every reason that is written in the code of the office. */
function reasonsInCode(): readonly string[] {
  const folder = resolve(__dirname, '../src/office');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  return WAKE_REASONS.filter((reason) => sources.some((source) => source.includes(`'${reason}'`)));
}

function digest(ids: readonly string[]): string {
  return createHash('sha256')
    .update([...ids].sort().join(','))
    .digest('hex');
}

describe('docs/reactivity.md', () => {
  const reveille = useReveille(() => TestReveille.serve('sqlite'));

  /** A task whose assignee is the first agent, who was not woken for it. */
  const taskIn = (office: Office, state: string, input: object = {}) =>
    newTask(office, { state, assigneeAgentProfileId: pick(office.agents), ...input });

  const assignee = ({ agents }: Office) => ({ 'its assignee': [pick(agents)] });

  const lastComment = async (office: Office) => pick((await keptBy(reveille(), office)).comments.slice(-1));

  /** A change of state, which the table has a row for. */
  const change =
    (from: string, body: object) =>
    async (office: Office): Promise<Happening> => {
      const task = await taskIn(office, from);
      const named = { task, agent: pick(office.agents) };
      return {
        people: assignee(office),
        names: async () =>
          'comment' in body ? { ...named, comment: (await lastComment(office)).id } : named,
        happen: () => patch(office.user, task, body),
        besides: 'comment' in body ? ['task_comment'] : [],
      };
    };

  const autoStart =
    (transition: object) =>
    async (office: Office): Promise<Happening> => {
      const task = await taskIn(office, 'TODO');
      return {
        people: assignee(office),
        names: () => ({ task, agent: pick(office.agents), step: 'step-1', transition: '17' }),
        happen: () => office.user.post(`/v1/tasks/${task}/auto-start`, { stepId: 'step-1', ...transition }),
      };
    };

  /** How each happening of the table is brought about, by what the table calls it. */
  const HAPPENINGS: Readonly<Record<string, (office: Office) => Promise<Happening>>> = {
    '`done`': async (office) => {
      const [parent, waiting] = [
        await taskIn(office, 'TODO'),
        await taskIn(office, 'TODO', { assigneeAgentProfileId: office.agents[1] }),
      ];
      const last = await newTask(office, { parentId: parent });
      await block(office, waiting, last);
      return {
        people: {
          'the assignee of what waited for it': [pick(office.agents, 1)],
          'the assignee of what it is part of': [pick(office.agents)],
        },
        names: () => ({
          'task_blockers_resolved:<task>': `task_blockers_resolved:${waiting}`,
          'task_children_completed:<task>': `task_children_completed:${parent}`,
          digest: digest([last]),
        }),
        happen: () => patch(office.user, last, { state: 'COMPLETED' }),
      };
    },
    '`cancelled`': change('IN_PROGRESS', { state: 'CANCELLED' }),
    '`into review`': async (office) => {
      const task = await taskIn(office, 'IN_PROGRESS');
      const roles = ['reviewer', 'approver', 'watcher'];
      for (const [index, role] of roles.entries())
        await seat(office, task, pick(office.agents, 1 + index), role);
      return {
        people: { 'its reviewers and approvers': office.agents.slice(1, 3) },
        names: () => ({ task }),
        happen: () => patch(office.user, task, { state: 'REVIEW' }),
      };
    },
    '`unblocked`': change('BLOCKED', { state: 'TODO' }),
    '`reopened`': change('COMPLETED', { state: 'TODO' }),
    '`reopened` with a comment': change('CANCELLED', { state: 'IN_PROGRESS', comment: { body: 'Not yet.' } }),
    '`assignmentMutation`': (office) =>
      Promise.resolve({
        people: assignee(office),
        names: () => ({ task: office.taskId, agent: pick(office.agents), generation: '1' }),
        happen: () => assign(office.user, office.taskId, pick(office.agents)),
      }),
    '`unassigned`': change('TODO', { assigneeAgentProfileId: null }),
    '`taskLifecycle`': (office) =>
      Promise.resolve({
        people: assignee(office),
        names: () => ({ task: 'created', agent: pick(office.agents), generation: '1' }),
        happen: () => taskIn(office, 'TODO', { id: 'created', kind: 'office' }),
      }),
    '`onboarding`': (office) => {
      let task = '';
      return Promise.resolve({
        people: assignee(office),
        names: () => ({ task, agent: pick(office.agents), generation: '1' }),
        happen: async () => {
          const url = `/v1/workspaces/${office.workspaceId}/onboarding`;
          const body = { agentProfileId: pick(office.agents), title: 'Begin' };
          ({ id: task } = (await office.user.post<{ task: { id: string } }>(url, body)).body.task);
        },
      });
    },
    '`recoverySweep`': async (office) => {
      const task = await taskIn(office, 'TODO', { kind: 'office' });
      const { runId, claimToken } = await beginTurn(office, pick(office.agents));
      await spendRetries(reveille(), runId);
      await office.worker.post(`/v1/runs/${runId}/fail`, { claimToken, error: 'it fails' });
      await office.user.patch(`/v1/tasks/${task}`, { state: 'TODO' });
      reveille().clock.advance(RECOVERABLE_AFTER_MS);
      return {
        people: assignee(office),
        names: () => ({ task }),
        happen: () => reveille().get(Sweeps).sweep(),
      };
    },
    '`agentError`': async (office) => {
      await taskIn(office, 'TODO', { kind: 'office' });
      await office.admin.patch(`/v1/agents/${pick(office.agents, 1)}`, { role: 'ceo' });
      const { runId, claimToken } = await beginTurn(office, pick(office.agents));
      const failure = { claimToken, error: 'it fails', retryable: false };
      return {
        people: { 'the coordinator': [pick(office.agents, 1)] },
        names: () => ({ run: runId }),
        happen: () => office.worker.post(`/v1/runs/${runId}/fail`, failure),
      };
    },
    '`workflowAutoStart`': autoStart({ stepTransitionId: 17 }),
    '`workflowAutoStart` without the transition': autoStart({}),
    '`comment`': async (office) => {
      const task = await taskIn(office, 'TODO');
      const mentions = office.agents.slice(1, 3);
      return {
        people: { ...assignee(office), 'whom it mentions': mentions },
        names: async () => ({ comment: (await lastComment(office)).id }),
        happen: () => comment(office.user, task, { mentions }),
      };
    },
  };

  /** What the rows say that a happening wakes, once their names are put in: who, why, under which key. */
  async function expected(rows: readonly Row[], { people, names }: Happening) {
    const woken = rows.filter(({ who }) => who !== 'nobody');
    const put = Object.entries(await names());
    return woken.flatMap(({ who, reason, key }) =>
      (people[who] ?? [`nobody is called “${who}”`]).map((agent) => {
        const named = [...put, ['agent', agent] as const].reduce(
          (text, [name, value]) => text.replaceAll(name.includes('<') ? name : `<${name}>`, value),
          bare(key),
        );
        return [agent, reason, key.startsWith('none') ? null : named].join(' ');
      }),
    );
  }

  /** What the counter of wakes without a key moves by, as the rows have it. */
  function expectedKeyless(rows: readonly Row[], { people }: Happening): Record<string, number> {
    return Object.fromEntries(
      rows
        .filter(({ key }) => key.startsWith('none'))
        .map(({ who, reason, key }) => {
          const cause = key.includes('`by_design`') ? 'by_design' : 'unresolved';
          return [`reason="${reason}",cause="${cause}"`, people[who]?.length ?? 0];
        }),
    );
  }

  it('has a row for each rule of the code, and none beside them', () => {
    const names = [...STATUS_RULES.map(({ name }) => name), ...Object.keys(ASSIGNMENT_PRODUCERS)];
    expect(new Set(ROWS.map(ruleOf))).toEqual(new Set([...names, ...OTHER_RULES]));
    expect(new Set(ROWS.map(({ happening }) => happening))).toEqual(new Set(Object.keys(HAPPENINGS)));
  });

  it('has the rules of the status in the order in which they are asked', () => {
    const statusRules = STATUS_RULES.map(({ name }) => name);
    const told = ROWS.map(ruleOf).filter((name) => name !== undefined && statusRules.includes(name));
    expect([...new Set(told)]).toEqual(statusRules);
  });

  it('has a row for each reason that the code of the office knows, and none beside them', () => {
    const told = new Set(ROWS.map(({ reason }) => reason).filter((reason) => reason !== ''));
    expect([...told].sort()).toEqual([...reasonsInCode()].sort());
  });

  it('says how long a note is its writer’s', () => {
    expect(TEXT).toContain(`for ${LEASE_MS / 1000} seconds`);
  });

  it.each(Object.entries(HAPPENINGS))(
    'tells who is woken by %s, why, and under which key',
    async (title, prepare) => {
      const office = await anOffice(reveille(), 4);
      const happening = await prepare(office);
      const rows = ROWS.filter((row) => row.happening === title);
      const known = (await keptBy(reveille(), office)).runs.map(({ id }) => id);
      const logger = RecordingLogger.of(reveille());
      let moves: Record<string, number> = {};
      const lines = await logger.during(async () => {
        moves = await movedBy(reveille(), 'office_run_dedup_keyless_total', happening.happen);
      });
      const made = (await keptBy(reveille(), office)).runs.filter(
        ({ id, reason }) => !known.includes(id) && happening.besides?.includes(reason) !== true,
      );
      const woken = made.map(({ agentProfileId, reason, idempotencyKey }) =>
        [agentProfileId, reason, idempotencyKey].join(' '),
      );
      expect(woken.sort()).toEqual((await expected(rows, happening)).sort());
      expect(moves).toEqual(expectedKeyless(rows, happening));
      const details = rows.flatMap(({ key }) => /^none, `(?!by_design)(\w+)`/.exec(key)?.[1] ?? []);
      expect(lines.map(({ fields }) => fields['detail'])).toEqual(details);
    },
  );
});
