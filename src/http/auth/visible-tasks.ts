import { Injectable } from '@nestjs/common';
import type { Principal } from '../../auth/principal.js';
import { TasksService } from '../../office/tasks.service.js';
import type { Task } from '../../tasks/task.schema.js';
import { visible } from './visibility.js';

/** The tasks that a caller may know of. */
@Injectable()
export class VisibleTasks {
  constructor(private readonly tasks: TasksService) {}

  /** @throws NotFoundError also for another workspace's task. */
  async get(caller: Principal, id: string): Promise<Task> {
    return visible(caller, await this.tasks.get(id), 'task');
  }
}
