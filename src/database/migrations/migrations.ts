import { Office1790000000001 } from './1790000000001-office.js';
import { Runs1790000000002 } from './1790000000002-runs.js';
import { Sessions1790000000003 } from './1790000000003-sessions.js';
import { EventsAndNotes1790000000004 } from './1790000000004-events-and-notes.js';
import { Tokens1790000000005 } from './1790000000005-tokens.js';
import { ReadableViews1790000000006 } from './1790000000006-readable-views.js';
import { Decisions1790000000007 } from './1790000000007-decisions.js';
import { Reactivity1790000000008 } from './1790000000008-reactivity.js';
import { QueueHeads1790000000009 } from './1790000000009-queue-heads.js';
import { Retries1790000000010 } from './1790000000010-retries.js';
import { RunHistory1790000000011 } from './1790000000011-run-history.js';

/** Every migration, oldest first. One that has been released is never edited. */
export const MIGRATIONS = [
  Office1790000000001,
  Runs1790000000002,
  Sessions1790000000003,
  EventsAndNotes1790000000004,
  Tokens1790000000005,
  ReadableViews1790000000006,
  Decisions1790000000007,
  Reactivity1790000000008,
  QueueHeads1790000000009,
  Retries1790000000010,
  RunHistory1790000000011,
] as const;
