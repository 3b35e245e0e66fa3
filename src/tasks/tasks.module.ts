import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { TaskRecords } from './task-records.js';
import { TasksRepository } from './tasks.repository.js';

@Module({
  imports: [EventsModule],
  providers: [TasksRepository, TaskRecords],
  exports: [TasksRepository, TaskRecords],
})
export class TasksModule {}
