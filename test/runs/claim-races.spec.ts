import { ClaimIssuer } from '../../src/runs/claim-issuer.js';
import { Transactions } from '../../src/database/transactions.js';
import { type DatabaseName, onEachDatabase } from '../support/databases.js';
import { Desk } from '../support/desk.js';
import { Gate } from '../support/gate.js';
import { TestReveille, useReveille } from '../support/reveille.js';
import { intercepting } from '../support/statements.js';
import { aroundEachLook } from '../support/waiting-claims.js';

type Claimed = Awaited<ReturnType<Desk['claim']>>;

/** By what a claim takes hold of the run that it has chosen. */
const TAKES = 'UPDATE "runs" SET "status" = ';

onEachDatabase('claims at once', (database) => {
  const reveille = useReveille(() => TestReveille.start(database));

  it('AC-OFFICE-WORKER-001.2 of three runs by eight claimers: each is given to one, five are given nothing', async () => {
    const desk = await Desk.open(reveille());
    for (const agent of await desk.workplace.agents(3)) await desk.queued(agent);
    const runs = await claimAtOnce(desk, { claimers: 8, winners: 3 });
    expect(new Set(runs.map(({ id }) => id)).size).toBe(3);
  });

  it('AC-OFFICE-WORKER-001.2 of two runs of each of three agents by ten claimers: one is given out for each agent', async () => {
    const desk = await Desk.open(reveille());
    const agents = await desk.workplace.agents(3);
    for (const reason of ['first', 'second']) for (const agent of agents) await desk.queued(agent, reason);
    const runs = await claimAtOnce(desk, { claimers: 10, winners: 3 });
    expect(runs.map(({ agentProfileId }) => agentProfileId).sort()).toEqual([...agents].sort());
    const left = (await desk.workplace.runs()).filter(({ status }) => status === 'queued');
    expect(left.map(({ agentProfileId }) => agentProfileId).sort()).toEqual([...agents].sort());
  });

  /** What so many claimers at once are given, of whom so many are to be given something. */
  async function claimAtOnce(desk: Desk, crowd: { claimers: number; winners: number }) {
    const claims = Array.from({ length: crowd.claimers }, () => () => desk.claim());
    const answers = await CONTENDING[database](reveille(), claims, crowd.winners);
    const runs = answers.flatMap((claim) => (claim === null ? [] : [claim.run]));
    expect(runs).toHaveLength(crowd.winners);
    return runs;
  }
});

/** How claims are made to contend for certain: by what each database lets happen at once. */
const CONTENDING: Readonly<
  Record<
    DatabaseName,
    (
      reveille: TestReveille,
      claims: readonly (() => Promise<Claimed>)[],
      winners: number,
    ) => Promise<readonly Claimed[]>
  >
> = { postgres: whileWinnersHold, sqlite: whileTheWriterIsTaken };

/** Whoever found a run holds it and goes no further until all others have looked and found nothing. */
async function whileWinnersHold(
  reveille: TestReveille,
  claims: readonly (() => Promise<Claimed>)[],
  winners: number,
): Promise<readonly Claimed[]> {
  const othersHaveLooked = new Gate();
  let holding = 0;
  let empty = 0;
  const restore = aroundEachLook(reveille, async (look) => {
    const claimed = await look();
    if (claimed.length === 0 && ++empty === claims.length - winners) othersHaveLooked.open();
    return claimed;
  });
  const answers = await intercepting(
    reveille,
    async (statement) => {
      if (!statement.sql.startsWith(TAKES)) return statement;
      holding += 1;
      await othersHaveLooked.passed;
      return statement;
    },
    () => Promise.all(claims.map((claim) => claim())),
  );
  restore();
  expect({ holding, empty }).toEqual({ holding: winners, empty: claims.length - winners });
  return answers;
}

/** All of them stand in line for the one writer before the first may look. */
async function whileTheWriterIsTaken(
  reveille: TestReveille,
  claims: readonly (() => Promise<Claimed>)[],
): Promise<readonly Claimed[]> {
  const mayGoOn = new Gate();
  const writer = reveille.get(Transactions).run(() => mayGoOn.passed);
  const looks = jest.spyOn(reveille.get(ClaimIssuer), 'claim');
  let answered = 0;
  const answers = claims.map(async (claim) => claim().finally(() => answered++));
  expect(looks).toHaveBeenCalledTimes(claims.length);
  expect(answered).toBe(0);
  looks.mockRestore();
  mayGoOn.open();
  await writer;
  return Promise.all(answers);
}
