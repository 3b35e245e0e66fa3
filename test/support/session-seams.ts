import { OfficeSessionCreator } from '../../src/sessions/office-session-creator.js';
import { OfficeSessionRaceConflict } from '../../src/sessions/session.errors.js';
import type { Session } from '../../src/sessions/session.schema.js';
import { SESSION_STORE, type SessionStore } from '../../src/sessions/session-store.js';
import { Gate } from './gate.js';
import type { TestReveille } from './reveille.js';

type Act = (time: number) => Promise<unknown> | undefined;

/** The store in use. */
export function storeOf(reveille: TestReveille): SessionStore {
  return reveille.app.get<SessionStore>(SESSION_STORE, { strict: false });
}

/** What is done around the attempts to create, each of which is made all the same. Times count from 1. */
export interface AroundCreates {
  readonly before?: Act;
  readonly after?: Act;
}

/** Counts the attempts to create and how they ended. */
export function watchCreates(reveille: TestReveille, { before, after }: AroundCreates = {}) {
  const creator = reveille.get(OfficeSessionCreator);
  const create = creator.create.bind(creator);
  let begun = 0;
  const spy = jest.spyOn(creator, 'create').mockImplementation(async (wanted) => {
    const attempt = ++begun;
    await before?.(attempt);
    try {
      return await create(wanted);
    } finally {
      await after?.(attempt);
    }
  });
  const refused = async () => {
    const settled = await Promise.allSettled(spy.mock.results.map(({ value }) => value as Promise<Session>));
    return settled.filter(
      (result) => result.status === 'rejected' && result.reason instanceof OfficeSessionRaceConflict,
    ).length;
  };
  return { begun: () => begun, refused };
}

/** Holds every attempt to create until so many are about to, all of which have looked up before and found nothing. */
export function holdCreates(reveille: TestReveille, count: number) {
  const allAreThere = new Gate();
  return watchCreates(reveille, {
    before: (attempt) => {
      if (attempt >= count) allAreThere.open();
      return allAreThere.passed;
    },
  });
}

/** Does something after a look-up has read and before its caller learns what. */
export function afterLookUps(reveille: TestReveille, act: Act = () => undefined) {
  const store = storeOf(reveille);
  const find = store.findPreferred.bind(store);
  let times = 0;
  return jest.spyOn(store, 'findPreferred').mockImplementation(async (pair) => {
    const found = await find(pair);
    await act(++times);
    return found;
  });
}
