import { EntitySchema } from 'typeorm';
import { counter, instant, integer, json, text } from '../database/columns.js';
import type { JsonObject } from '../database/json.js';
import type { EventSubject, EventType } from './event.js';

/** An event as it lies in the log. */
export interface StoredEvent {
  readonly id: string;
  /** Its place in the order in which readers see events; null until the sequencer has seen it committed. */
  readonly number: number | null;
  readonly workspaceId: string;
  readonly type: EventType;
  readonly at: number;
  readonly subject: EventSubject;
  readonly data: JsonObject;
}

/** The last number given. One row, whose lock is the sequencer's turn. */
export interface EventSequence {
  readonly id: number;
  readonly last: number;
}

export const EventSchema = new EntitySchema<StoredEvent>({
  name: 'events',
  columns: {
    id: text('id', { primary: true }),
    number: counter('number', { nullable: true }),
    workspaceId: text('workspace_id'),
    type: text('type'),
    at: instant('at'),
    subject: json('subject'),
    data: json('data'),
  },
  indices: [
    { name: 'events_number', columns: ['number'], unique: true, where: 'number IS NOT NULL' },
    { name: 'events_workspace', columns: ['workspaceId', 'number'] },
    { name: 'events_unnumbered', columns: ['at', 'id'], where: 'number IS NULL' },
  ],
});

export const EventSequenceSchema = new EntitySchema<EventSequence>({
  name: 'event_sequence',
  columns: { id: integer('id', { primary: true }), last: counter('last') },
});
