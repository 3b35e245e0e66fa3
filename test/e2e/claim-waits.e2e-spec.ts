import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { TokensService } from '../../src/auth/tokens.service.js';
import { ClaimIssuer } from '../../src/runs/claim-issuer.js';
import { ClaimWaits } from '../../src/runs/claim-waits.js';
import type { Api } from '../support/api.js';
import { type DatabaseName, onEachDatabase } from '../support/databases.js';
import { Gate } from '../support/gate.js';
import { OfficeScene } from '../support/office-scene.js';
import { type Office, anOffice } from '../support/office.js';
import { pick } from '../support/pick.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { aroundEachLook, claim, emptyLooks, waitingClaim, waitingClaims } from '../support/waiting-claims.js';

const SECOND_MS = 1000;

async function listening(database: DatabaseName): Promise<TestReveille> {
  const reveille = await TestReveille.serve(database);
  await (reveille.app as NestFastifyApplication).listen(0, '127.0.0.1');
  return reveille;
}

function wake(user: Api, agentProfileId: string) {
  return user.post<{ runId: string }>('/v1/wakes', { agentProfileId, reason: 'hello', payload: {} });
}

async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

onEachDatabase('a claim that may wait', (database) => {
  const reveille = useReveille(() => listening(database));

  /** An office, and the run that its first agent is woken with. */
  async function woken() {
    const scene = await OfficeScene.open(reveille());
    const { runId } = (await wake(scene.office.user, scene.agent())).body;
    return { scene, office: scene.office, runId };
  }

  it('AC-OFFICE-WORKER-001.5 is answered at once when something is there', async () => {
    const { office, runId } = await woken();
    const { body } = await claim(office.worker, { waitSeconds: 60 });
    expect(body.claims).toMatchObject([{ run: { id: runId } }]);
  });

  it('AC-OFFICE-WORKER-001.5 is answered with nothing when its time is up, also by a clock that stands still', async () => {
    const office = await anOffice(reveille());
    const waited = await millisecondsOf(async () => {
      expect((await claim(office.worker, { waitSeconds: 1 })).body).toEqual({ claims: [] });
    });
    expect(waited).toBeGreaterThan(0.9 * SECOND_MS);
    expect(waited).toBeLessThan(5 * SECOND_MS);
  });

  it('AC-OFFICE-WORKER-001.5 hears of a wake by the signal: five in a row come sooner than five looks a second apart', async () => {
    const office = await anOffice(reveille(), 5);
    const waited = await millisecondsOf(async () => {
      for (const agent of office.agents) {
        const { answer } = await waitingClaim(reveille(), office.worker);
        const { runId } = (await wake(office.user, agent)).body;
        expect((await answer).body.claims).toMatchObject([{ run: { id: runId } }]);
      }
    });
    expect(waited).toBeLessThan(2.5 * SECOND_MS);
  });

  it('is given what a resumed workspace goes on with', async () => {
    const { scene, office, runId } = await woken();
    await scene.pause();
    const { answer } = await waitingClaim(reveille(), office.worker);
    await scene.resume();
    expect((await answer).body.claims).toMatchObject([{ run: { id: runId } }]);
  });

  it('is given the run of an agent that is set idle', async () => {
    const { scene, office, runId } = await woken();
    await scene.setStatus(scene.agent(), 'paused');
    const { answer } = await waitingClaim(reveille(), office.worker);
    await scene.setStatus(scene.agent(), 'idle');
    expect((await answer).body.claims).toMatchObject([{ run: { id: runId } }]);
  });

  it.each([
    ['finish', {}],
    ['fail', { error: 'no', retryable: false }],
    ['release', {}],
  ])('is given what its agent is free for after a %s', async (what, report) => {
    const { scene, office } = await woken();
    const held = await scene.claim();
    await office.user.post('/v1/wakes', { agentProfileId: scene.agent(), reason: 'next', payload: {} });
    const { answer } = await waitingClaim(reveille(), office.worker);
    expect((await scene.report(held, what, report)).status).toBe(200);
    expect((await answer).body.claims).toHaveLength(1);
  });

  it('AC-OFFICE-WORKER-002.4 finds a retry that has become due, of which nothing tells', async () => {
    const { scene, office, runId } = await woken();
    const due = reveille().clock.now() + 60 * SECOND_MS;
    await scene.sql(`UPDATE runs SET scheduled_retry_at = ${due} WHERE id = '${runId}'`);
    const { answer } = await waitingClaim(reveille(), office.worker);
    reveille().clock.advance(60 * SECOND_MS);
    const waited = await millisecondsOf(async () => {
      expect((await answer).body.claims).toMatchObject([{ run: { id: runId } }]);
    });
    expect(waited).toBeLessThan(2 * SECOND_MS);
  });

  it('AC-OFFICE-WORKER-001.6 is refused within a second when its token is revoked', async () => {
    const office = await anOffice(reveille());
    const { id, worker } = await anotherWorker(office);
    const { answer } = await waitingClaim(reveille(), worker);
    const waited = await millisecondsOf(async () => {
      await office.admin.delete(`/v1/tokens/${id}`);
      expect(await answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    });
    expect(waited).toBeLessThan(SECOND_MS);
    await wake(office.user, pick(office.agents));
    expect((await claim(office.worker)).body.claims).toHaveLength(1);
  });

  it('AC-OFFICE-WORKER-001.6 is refused at the next look when its token has expired', async () => {
    const office = await anOffice(reveille());
    const expiresAt = new Date(reveille().clock.now() + 60 * SECOND_MS).toISOString();
    const { worker } = await anotherWorker(office, { expiresAt });
    const { answer } = await waitingClaim(reveille(), worker);
    reveille().clock.advance(60 * SECOND_MS);
    const waited = await millisecondsOf(async () => {
      expect(await answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    });
    expect(waited).toBeLessThan(2 * SECOND_MS);
  });

  it('AC-OFFICE-WORKER-001.6 is refused, and given nothing, when its token is revoked behind the server’s back as a run comes', async () => {
    const { scene, office } = await woken();
    await scene.pause();
    const { id, worker } = await anotherWorker(office);
    const { answer } = await waitingClaim(reveille(), worker);
    await scene.sql(`DELETE FROM tokens WHERE id = '${id}'`);
    await scene.resume();
    expect(await answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    expect((await scene.claim()).run).toMatchObject({ attempt: 1 });
  });

  it.each([-1, 61, 1.5, '5', null, true])('refuses to wait for %p seconds', async (waitSeconds) => {
    const { worker } = await anOffice(reveille());
    expect(await claim(worker, { waitSeconds })).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    });
  });

  it('AC-OFFICE-WORKER-001.5 is one of fifty: fifty wakes come to fifty agents, each once, and one look goes on at a time', async () => {
    const office = await anOffice(reveille(), 50);
    const answers = await waitingClaims(reveille(), 50, () => claim(office.worker, { waitSeconds: 60 }));
    const mostAtOnce = await mostLooksDuring(async () => {
      await Promise.all(office.agents.map((agent) => wake(office.user, agent)));
      await Promise.all(answers);
    });
    const claimed = (await Promise.all(answers)).map(({ body }) => body.claims.map(({ run }) => run.id));
    expect(claimed.every((ids) => ids.length === 1)).toBe(true);
    expect(new Set(claimed.flat()).size).toBe(50);
    expect(mostAtOnce).toBe(1);
  });

  it('looks once in a round for all who want the same, and asks once about their token', async () => {
    const office = await anOffice(reveille());
    const answers = await waitingClaims(reveille(), 10, () => claim(office.worker, { waitSeconds: 2 }));
    const looks = jest.spyOn(reveille().get(ClaimIssuer), 'claim');
    const confirmations = jest.spyOn(reveille().get(TokensService), 'confirm');
    await Promise.all(answers);
    // Two seconds have two looks, or three.
    expect(looks.mock.calls.length).toBeLessThanOrEqual(3);
    expect(confirmations.mock.calls.length).toBeLessThanOrEqual(3);
    looks.mockRestore();
    confirmations.mockRestore();
  });

  describe('whose caller hangs up', () => {
    it('AC-OFFICE-WORKER-001.6 takes nothing for nobody', async () => {
      const { scene, office } = await woken();
      await scene.pause();
      const looked = emptyLooks(reveille(), 1);
      const hangUp = await claimToHangUpOn(office);
      await looked;
      await hangUp();
      await scene.resume();
      expect((await scene.claim()).run).toMatchObject({ attempt: 1 });
    });

    it.each(['at once', 'when it has waited'])(
      'AC-OFFICE-WORKER-001.6 puts back what it is being given %s',
      async (when) => {
        const { scene, office, runId } = await woken();
        const mustWait = when === 'when it has waited';
        if (mustWait) await scene.pause();
        const [given, mayAnswer] = [new Gate(), new Gate()];
        const looked = mustWait ? emptyLooks(reveille(), 1) : Promise.resolve();
        const hangUp = await claimToHangUpOn(office);
        await looked;
        const restore = aroundEachLook(reveille(), async (look) => {
          const claims = await look();
          if (claims.length > 0) given.open();
          if (claims.length > 0) await mayAnswer.passed;
          return claims;
        });
        if (mustWait) await scene.resume();
        await given.passed;
        await hangUp();
        restore();
        mayAnswer.open();
        const { body } = await claim(office.worker, { waitSeconds: 60 });
        expect(body.claims).toMatchObject([{ run: { id: runId, attempt: 1 } }]);
      },
    );
  });

  /** A worker with a token of its own. */
  async function anotherWorker({ admin, workspaceId }: Office, settings: object = {}) {
    const body = { kind: 'worker', name: 'another', ...settings };
    const tokens = `/v1/workspaces/${workspaceId}/tokens`;
    const { id, token } = (await admin.post<{ id: string; token: string }>(tokens, body)).body;
    return { id, token, worker: admin.as(token) };
  }

  /** Makes a claim, and answers what hangs up on it and resolves when the server knows. */
  async function claimToHangUpOn(office: Office): Promise<() => Promise<void>> {
    const { token } = await anotherWorker(office);
    const url = await (reveille().app as NestFastifyApplication).getUrl();
    const waits = reveille().get(ClaimWaits);
    const original = waits.claim.bind(waits);
    const gone = new Gate();
    const spy = jest.spyOn(waits, 'claim').mockImplementation((request, caller) => {
      spy.mockRestore();
      caller.gone?.addEventListener('abort', () => {
        gone.open();
      });
      return original(request, caller);
    });
    const connection = new AbortController();
    const answer = fetch(`${url}/v1/runs/claim`, {
      method: 'POST',
      signal: connection.signal,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ workerId: 'w', waitSeconds: 60 }),
    });
    const refused = expect(answer).rejects.toThrow('aborted');
    return async () => {
      connection.abort();
      await refused;
      await gone.passed;
    };
  }

  /** How many looks for something to claim were going on at the same time, at most, during `work`. */
  async function mostLooksDuring(work: () => Promise<unknown>): Promise<number> {
    let now = 0;
    let most = 0;
    const restore = aroundEachLook(reveille(), async (look) => {
      most = Math.max(most, ++now);
      return look().finally(() => now--);
    });
    await work();
    restore();
    return most;
  }
});

onEachDatabase('a server that stops while claims wait', (database) => {
  it('AC-OFFICE-WORKER-008.1 answers them with nothing, and claims nothing from then on', async () => {
    const running = await listening(database);
    const scene = await OfficeScene.open(running);
    const answers = await waitingClaims(running, 10, () => claim(scene.office.worker, { waitSeconds: 60 }));
    const stopped = running.stop();
    for (const answer of answers) expect(await answer).toMatchObject({ status: 200, body: { claims: [] } });
    await stopped;
  });
});
