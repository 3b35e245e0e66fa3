import { Injectable } from '@nestjs/common';
import { AgentsRepository } from '../agents/agents.repository.js';
import type { Actor } from '../auth/principal.js';
import { Transactions } from '../database/transactions.js';
import { ForbiddenError, NotFoundError } from '../errors/reveille-error.js';
import { type CommentInput, CommentRecords } from '../tasks/comment-records.js';
import type { TaskComment } from '../tasks/task-comment.schema.js';
import { type TaskChanges, TaskRecords } from '../tasks/task-records.js';
import type { Task } from '../tasks/task.schema.js';
import { TasksRepository } from '../tasks/tasks.repository.js';
import { Handover } from './handover.js';
import type { Reaction } from './reactivity/reaction.js';
import { Reactivity } from './reactivity/reactivity.service.js';
import { WhatItWakes } from './reactivity/what-it-wakes.js';

/** What is done to a task; what is left out stays. */
export type MutationInput = TaskChanges & { readonly comment?: CommentInput | undefined };

/** What has been done, and what it set in motion. */
export interface MutationResult {
  readonly task: Task;
  readonly comment: TaskComment | null;
  readonly reactions: readonly Reaction[];
  /** The live session, at work or not, of whoever had a task that was taken away or cancelled. */
  readonly interruptedSessionId: string | null;
}

/**
 * Changes tasks. One transaction holds the change with all that it owes: the event, the hand-over, a note of every wake.
 * The wakes are decided after the commit, and nothing of the change depends on how (AC-OFFICE-ASSIGN-RATE-001.7).
 */
@Injectable()
export class TaskMutations {
  constructor(
    private readonly transactions: Transactions,
    private readonly tasks: TasksRepository,
    private readonly records: TaskRecords,
    private readonly comments: CommentRecords,
    private readonly agents: AgentsRepository,
    private readonly handover: Handover,
    private readonly whatItWakes: WhatItWakes,
    private readonly reactivity: Reactivity,
  ) {}

  /** @throws NotFoundError, or ForbiddenError when the agent who acts may not assign; nothing has changed then. */
  async apply(
    id: string,
    input: MutationInput & { readonly comment: CommentInput },
    actor: Actor,
  ): Promise<MutationResult & { readonly comment: TaskComment }>;
  async apply(id: string, input: MutationInput, actor: Actor): Promise<MutationResult>;
  async apply(id: string, input: MutationInput, actor: Actor): Promise<MutationResult> {
    const { notes, ...result } = await this.transactions.run(async () => {
      // Agents before the task, as by whoever deletes an agent: it locks the agent, then the tasks.
      const agents = await this.keepAgents(input);
      const before = await this.tasks.lock(id);
      if (before === null) throw new NotFoundError('task');
      await this.permit(input, actor);
      if (agents.some((agent) => agent?.workspaceId !== before.workspaceId)) throw new NotFoundError('agent');
      return this.change(before, input, actor);
    });
    return { ...result, reactions: await this.reactivity.carryOut(notes) };
  }

  private async change(before: Task, input: MutationInput, actor: Actor) {
    const comment =
      input.comment === undefined ? null : await this.comments.insert(before, input.comment, actor);
    const after = await this.record(before, input, comment);
    const isAssignment = input.assigneeAgentProfileId !== undefined;
    return {
      task: after,
      comment,
      interruptedSessionId: await this.handover.carryOut(before, after),
      notes: await this.whatItWakes.writeDown({ before, after, isAssignment, comment, actor }),
    };
  }

  private async record(before: Task, input: MutationInput, comment: TaskComment | null): Promise<Task> {
    const { title, state, priority, assigneeAgentProfileId } = input;
    const changes = { title, state, priority, assigneeAgentProfileId };
    if (Object.values(changes).some((value) => value !== undefined))
      return this.records.change(before, changes, comment?.id);
    if (comment !== null) await this.records.commented(before, comment.id);
    return before;
  }

  /** Every agent that the mutation names. */
  private async keepAgents({ assigneeAgentProfileId, comment }: MutationInput) {
    const named = new Set([assigneeAgentProfileId ?? [], comment?.mentions ?? []].flat());
    const agents = [];
    for (const id of named) agents.push(await this.agents.keep(id));
    return agents;
  }

  private async permit({ assigneeAgentProfileId }: MutationInput, actor: Actor): Promise<void> {
    if (assigneeAgentProfileId === undefined || actor.type !== 'agent') return;
    if ((await this.agents.find(actor.id))?.canAssignTasks !== true)
      throw new ForbiddenError('This agent may not assign tasks.');
  }
}
