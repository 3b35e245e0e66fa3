import type { Office } from './office.js';
import { pick } from './pick.js';

/** A turn that a worker holds. */
export interface Turn {
  readonly runId: string;
  readonly claimToken: string;
  readonly sessionId: string;
  /** How the worker is told that it stands. */
  heartbeat(): Promise<{ readonly stop: boolean; readonly stopReason: string | null }>;
  finish(): Promise<void>;
}

interface Claims {
  readonly claims: readonly { readonly run: { readonly id: string }; readonly claimToken: string }[];
}

/** Claims the oldest run of the agent, which must have one, and opens the conversation that its turn happens in. */
export async function beginTurn({ worker }: Office, agentProfileId: string): Promise<Turn> {
  const claimed = await worker.post<Claims>('/v1/runs/claim', {
    workerId: 'w',
    agentProfileIds: [agentProfileId],
  });
  const { run, claimToken } = pick(claimed.body.claims);
  const url = `/v1/runs/${run.id}`;
  const opened = await worker.post<{ session: { id: string } }>(`${url}/session`, {
    claimToken,
    executionProfileId: 'default',
  });
  expect(opened.status).toBe(200);
  return {
    runId: run.id,
    claimToken,
    sessionId: opened.body.session.id,
    heartbeat: async () =>
      (await worker.post<Awaited<ReturnType<Turn['heartbeat']>>>(`${url}/heartbeat`, { claimToken })).body,
    finish: async () => {
      expect((await worker.post(`${url}/finish`, { claimToken })).status).toBe(200);
    },
  };
}
