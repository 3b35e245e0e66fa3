import type { DataSource, QueryRunner } from 'typeorm';
import { Transactions } from '../../src/database/transactions.js';
import type { TestReveille } from './reveille.js';

/** A statement on its way to the database. */
export interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** What is sent in a statement's place. */
type Intercept = (statement: Statement) => Statement | Promise<Statement>;

/** Runs `work` and answers the statements that were sent through the writer meanwhile, in order. */
export async function statementsOf(
  reveille: TestReveille,
  work: () => Promise<unknown>,
): Promise<readonly Statement[]> {
  const sent: Statement[] = [];
  const record = (statement: Statement) => {
    sent.push(statement);
    return statement;
  };
  await intercepting(reveille, record, work);
  return sent;
}

/** Runs `work` while every statement passes through `intercept` before it is sent. */
export async function intercepting<T>(
  reveille: TestReveille,
  intercept: Intercept,
  work: () => Promise<T>,
): Promise<T> {
  const dataSource = await writerOf(reveille);
  const create = dataSource.createQueryRunner.bind(dataSource);
  const divert = (runner: QueryRunner): QueryRunner => diverted(runner, intercept);
  if (dataSource.options.type !== 'postgres') {
    // On SQLite all QueryRunners are one object, which is held already.
    const runner = create();
    const undiverted = runner.query.bind(runner);
    divert(runner);
    return work().finally(() => Object.assign(runner, { query: undiverted }));
  }
  Object.assign(dataSource, { createQueryRunner: (mode: 'master' | 'slave') => divert(create(mode)) });
  return work().finally(() => Object.assign(dataSource, { createQueryRunner: create }));
}

function writerOf(reveille: TestReveille): Promise<DataSource> {
  const transactions = reveille.get(Transactions);
  return transactions.run(() => Promise.resolve(transactions.writingRunner().connection));
}

function diverted(runner: QueryRunner, intercept: Intercept): QueryRunner {
  const send = runner.query.bind(runner) as (...statement: unknown[]) => Promise<unknown>;
  const query = async (sql: string, parameters: unknown[] = [], ...rest: unknown[]): Promise<unknown> => {
    const statement = await intercept({ sql, parameters });
    return send(statement.sql, statement.parameters, ...rest);
  };
  return Object.assign(runner, { query });
}
