import { Body, Controller, Delete, Get, HttpCode, Param, Put, Query } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { ParticipantsService } from '../office/participants.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { VisibleTasks } from './auth/visible-tasks.js';
import { AddParticipantDto, RemoveParticipantDto } from './schemas/task.dto.js';
import { viewParticipant } from './views.js';

@Controller('v1/tasks')
export class ParticipantsController {
  constructor(
    private readonly tasks: VisibleTasks,
    private readonly participants: ParticipantsService,
  ) {}

  @Get(':id/participants')
  @Rights('admin', 'user', 'agent', 'worker')
  async listParticipants(@Caller() caller: Principal, @Param('id') id: string) {
    await this.tasks.get(caller, id);
    return { items: (await this.participants.list(id)).map(viewParticipant), nextCursor: null };
  }

  @Put(':id/participants/:agentProfileId')
  @Rights('admin', 'user')
  async addParticipant(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Param('agentProfileId') agentProfileId: string,
    @Body() { role }: AddParticipantDto,
  ) {
    await this.tasks.get(caller, id);
    return viewParticipant(await this.participants.add(id, agentProfileId, role));
  }

  @Delete(':id/participants/:agentProfileId')
  @HttpCode(204)
  @Rights('admin', 'user')
  async removeParticipant(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Param('agentProfileId') agentProfileId: string,
    @Query() { role }: RemoveParticipantDto,
  ): Promise<void> {
    await this.tasks.get(caller, id);
    await this.participants.remove(id, agentProfileId, role ?? null);
  }
}
