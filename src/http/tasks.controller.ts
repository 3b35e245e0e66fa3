import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { type Principal, actorOf } from '../auth/principal.js';
import { NotFoundError } from '../errors/reveille-error.js';
import { AutoStartService } from '../office/auto-start.service.js';
import { TasksService } from '../office/tasks.service.js';
import type { Task } from '../tasks/task.schema.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { sees } from './auth/visibility.js';
import { VisibleTasks } from './auth/visible-tasks.js';
import { pageOf } from './paging.js';
import { AutoStartDto, CreateTaskDto, UpdateTaskDto } from './schemas/task.dto.js';
import { PageDto } from './schemas/workspace.dto.js';
import { viewReaction, viewTask } from './views.js';

@Controller('v1/tasks')
export class TasksController {
  constructor(
    private readonly tasks: TasksService,
    private readonly visibleTasks: VisibleTasks,
    private readonly autoStarts: AutoStartService,
  ) {}

  @Post()
  @Rights('admin', 'user')
  async create(@Caller() caller: Principal, @Body() body: CreateTaskDto) {
    if (!sees(caller, body.workspaceId)) throw new NotFoundError('workspace');
    const { task, reactions } = await this.tasks.create(body);
    return { ...viewTask(task), reactions: reactions.map(viewReaction) };
  }

  @Get()
  @Rights('admin', 'user', 'agent', 'worker')
  list(@Caller() caller: Principal, @Query() query: PageDto) {
    return pageOf(query, (after, count) => this.tasks.list(caller.workspaceId, after?.[0] ?? null, count), {
      placeOf: ({ id }: Task) => [id],
      view: viewTask,
    });
  }

  @Get(':id')
  @Rights('admin', 'user', 'agent', 'worker')
  async get(@Caller() caller: Principal, @Param('id') id: string) {
    return viewTask(await this.visibleTasks.get(caller, id));
  }

  /** Changes a task. Who did it is the caller's token's to say, and so is whether they may assign. */
  @Patch(':id')
  @Rights('admin', 'user', 'agent')
  async update(@Caller() caller: Principal, @Param('id') id: string, @Body() body: UpdateTaskDto) {
    await this.visibleTasks.get(caller, id);
    const { task, reactions, interruptedSessionId } = await this.tasks.update(id, body, actorOf(caller));
    return { task: viewTask(task), reactions: reactions.map(viewReaction), interruptedSessionId };
  }

  /** The workflow has moved the task to a step that starts its agent. */
  @Post(':id/auto-start')
  @HttpCode(200)
  @Rights('admin', 'user')
  async autoStart(@Caller() caller: Principal, @Param('id') id: string, @Body() body: AutoStartDto) {
    return viewReaction(await this.autoStarts.start(await this.visibleTasks.get(caller, id), body));
  }
}
