import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { type Principal, actorOf } from '../auth/principal.js';
import { CommentsService } from '../office/comments.service.js';
import { Caller } from './auth/caller.decorator.js';
import { Rights } from './auth/rights.decorator.js';
import { VisibleTasks } from './auth/visible-tasks.js';
import { pageOf } from './paging.js';
import { CommentDto } from './schemas/task.dto.js';
import { PageDto } from './schemas/workspace.dto.js';
import { viewComment, viewReaction } from './views.js';

@Controller('v1/tasks')
export class CommentsController {
  constructor(
    private readonly tasks: VisibleTasks,
    private readonly comments: CommentsService,
  ) {}

  /** Oldest first. */
  @Get(':id/comments')
  @Rights('admin', 'user', 'agent', 'worker')
  async list(@Caller() caller: Principal, @Param('id') id: string, @Query() query: PageDto) {
    await this.tasks.get(caller, id);
    return pageOf(query, (after, count) => this.comments.list(id, after?.[0] ?? null, count), {
      placeOf: (comment) => [comment.id],
      view: viewComment,
    });
  }

  @Post(':id/comments')
  @Rights('admin', 'user', 'agent')
  async add(@Caller() caller: Principal, @Param('id') id: string, @Body() body: CommentDto) {
    await this.tasks.get(caller, id);
    const { comment, reactions } = await this.comments.add(id, body, actorOf(caller));
    return { comment: viewComment(comment), reactions: reactions.map(viewReaction) };
  }
}
