import { Module } from '@nestjs/common';
import { EventLog } from './event-log.js';
import { EventSequencer } from './event-sequencer.js';
import { EventRepository } from './event.repository.js';

@Module({ providers: [EventRepository, EventSequencer, EventLog], exports: [EventLog] })
export class EventsModule {}
