import { Controller, Delete, Get, HttpCode, Param, Put } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { BlockersService } from '../office/blockers.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { VisibleTasks } from './auth/visible-tasks.js';
import { viewBlocker } from './views.js';

@Controller('v1/tasks')
export class BlockersController {
  constructor(
    private readonly tasks: VisibleTasks,
    private readonly blockers: BlockersService,
  ) {}

  @Get(':id/blockers')
  @Rights('admin', 'user', 'agent', 'worker')
  async list(@Caller() caller: Principal, @Param('id') id: string) {
    await this.tasks.get(caller, id);
    return { items: (await this.blockers.list(id)).map(viewBlocker), nextCursor: null };
  }

  @Put(':id/blockers/:blockerTaskId')
  @Rights('admin', 'user')
  async add(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Param('blockerTaskId') blockerTaskId: string,
  ) {
    await this.tasks.get(caller, id);
    return viewBlocker(await this.blockers.add(id, blockerTaskId));
  }

  @Delete(':id/blockers/:blockerTaskId')
  @HttpCode(204)
  @Rights('admin', 'user')
  async remove(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Param('blockerTaskId') blockerTaskId: string,
  ): Promise<void> {
    await this.tasks.get(caller, id);
    await this.blockers.remove(id, blockerTaskId);
  }
}
