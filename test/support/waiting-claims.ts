import { ClaimIssuer } from '../../src/runs/claim-issuer.js';
import type { Answer, Api } from './api.js';
import type { TestReveille } from './reveille.js';

/** What a claim answers, as far as tests look at it. */
export interface Claims {
  readonly claims: readonly {
    readonly run: { readonly id: string; readonly attempt: number };
    readonly claimToken: string;
  }[];
}

/** A claim that waits. Its answer is wrapped, so that nobody awaits it by awaiting this. */
export interface Waiting {
  readonly answer: Promise<Answer<Claims>>;
}

type Issue = ClaimIssuer['claim'];

/** Makes a claim over HTTP. */
export function claim(worker: Api, body: object = {}): Promise<Answer<Claims>> {
  return worker.post<Claims>('/v1/runs/claim', { workerId: 'w', ...body });
}

/** Makes a claim, and answers when it has found nothing and waits, longer than any test does. */
export async function waitingClaim(reveille: TestReveille, worker: Api): Promise<Waiting> {
  const [answer] = await waitingClaims(reveille, 1, () => claim(worker, { waitSeconds: 60 }));
  if (answer === undefined) throw new Error('Nobody waits.');
  return { answer };
}

/** Makes so many claims, and answers when each of them has found nothing and waits. */
export async function waitingClaims(
  reveille: TestReveille,
  count: number,
  make: () => Promise<Answer<Claims>>,
): Promise<readonly Promise<Answer<Claims>>[]> {
  const looked = emptyLooks(reveille, count);
  const answers = Array.from({ length: count }, make);
  await Promise.race([looked, ...answers.map((answer) => answer.then(refuse))]);
  return answers;
}

/** Resolves when so many looks for something to claim have found nothing. */
export async function emptyLooks(reveille: TestReveille, count: number): Promise<void> {
  let restore: () => void = () => undefined;
  let ended = 0;
  await new Promise<void>((resolve) => {
    restore = aroundEachLook(reveille, async (look) => {
      const claims = await look();
      if (claims.length === 0) ended += 1;
      if (ended === count) resolve();
      return claims;
    });
  });
  restore();
}

/** Has every look for something to claim go through `around`, until the answered function is called. */
export function aroundEachLook(
  reveille: TestReveille,
  around: (look: () => ReturnType<Issue>) => ReturnType<Issue>,
): () => void {
  const issuer = reveille.get(ClaimIssuer);
  const look = issuer.claim.bind(issuer);
  const spy = jest.spyOn(issuer, 'claim').mockImplementation((request) => around(() => look(request)));
  return () => {
    spy.mockRestore();
  };
}

function refuse({ status, body }: Answer<Claims>): never {
  throw new Error(`A claim was to wait, and answered ${status}: ${JSON.stringify(body)}`);
}
