import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { BlockersRepository } from './blockers.repository.js';
import { CommentRecords } from './comment-records.js';
import { CommentsRepository } from './comments.repository.js';
import { TaskRecords } from './task-records.js';
import { TasksRepository } from './tasks.repository.js';

const PROVIDERS = [TasksRepository, TaskRecords, BlockersRepository, CommentsRepository, CommentRecords];

@Module({ imports: [EventsModule], providers: PROVIDERS, exports: PROVIDERS })
export class TasksModule {}
