import { Injectable } from '@nestjs/common';
import type { TaskParticipant } from '../../tasks/task.schema.js';
import { statusOf } from '../../tasks/task-status.js';
import { TasksRepository } from '../../tasks/tasks.repository.js';
import type { ProducedWake } from '../producers/produced-wake.js';
import { ASSIGNMENT_PRODUCERS } from '../producers/producers.js';
import { wakesOfComment } from './comment-rules.js';
import type { Mutation, Owed } from './mutation.js';
import type { Note } from './note.schema.js';
import { NoteBook } from './note-book.js';
import { INTO_REVIEW, STATUS_RULES, type StatusRule } from './status-rules.js';

/** What a mutation wakes. The table in docs/reactivity.md says the same in words. */
@Injectable()
export class WhatItWakes {
  constructor(
    private readonly tasks: TasksRepository,
    private readonly book: NoteBook,
  ) {}

  /** Writes it down, in the mutation's own transaction. */
  async writeDown(mutation: Mutation): Promise<readonly Note[]> {
    return this.book.write(mutation.after, await this.of(mutation));
  }

  /** By its status, then its assignee, then its comment; nobody twice for one reason. */
  private async of(mutation: Mutation): Promise<readonly Owed[]> {
    const owed = [...(await this.byStatus(mutation)), ...byAssignee(mutation), ...wakesOfComment(mutation)];
    return owed.filter((one, index) => owed.findIndex((other) => isSame(one, other)) === index);
  }

  private async byStatus(mutation: Mutation): Promise<readonly Owed[]> {
    const [from, to] = [statusOf(mutation.before.state), statusOf(mutation.after.state)];
    const rule = from === to ? undefined : STATUS_RULES.find((candidate) => candidate.applies(from, to));
    return rule === undefined ? [] : rule.owes(mutation, await this.participantsFor(rule, mutation));
  }

  private participantsFor(rule: StatusRule, { after }: Mutation): Promise<readonly TaskParticipant[]> {
    return rule === INTO_REVIEW ? this.tasks.participants(after.id) : Promise.resolve([]);
  }
}

/** Clearing the assignee wakes nobody (AC-OFFICE-ASSIGN-RATE-001.9). */
function byAssignee({ after, isAssignment, actor }: Mutation): readonly ProducedWake[] {
  const assignee = after.assigneeAgentProfileId;
  return isAssignment && assignee !== null
    ? [ASSIGNMENT_PRODUCERS.assignmentMutation(after, assignee, actor)]
    : [];
}

function isSame(one: Owed, other: Owed): boolean {
  return one.agentProfileId === other.agentProfileId && one.reason === other.reason;
}
