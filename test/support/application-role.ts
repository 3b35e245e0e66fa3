import { randomBytes } from 'node:crypto';
import { type TestDatabase, onServer } from './databases.js';
import { type Outsider, onPostgres } from './outsider.js';

/** A column of one of our tables. */
export interface Column {
  readonly table: string;
  readonly name: string;
}

/**
 * The account of a server that does not own its PostgreSQL database, as careful operators have it: what it may read can
 * be taken away from it column by column. Making it takes a test server's account that may create roles.
 */
export class ApplicationRole {
  private denied: Column | null = null;

  private constructor(
    private readonly database: TestDatabase,
    private readonly name: string,
    /** The database as this role reaches it. */
    readonly url: string,
  ) {}

  static async on(database: TestDatabase): Promise<ApplicationRole> {
    const name = `role_${randomBytes(8).toString('hex')}`;
    const url = new URL(database.url);
    url.username = name;
    url.password = name;
    await onServer(`CREATE ROLE ${name} LOGIN PASSWORD '${name}'`);
    const role = new ApplicationRole(database, name, url.href);
    await role.asOwner(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`);
    return role;
  }

  /** From now on it may read everything but that column; null denies it nothing. */
  async deny(column: Column | null): Promise<void> {
    if (column === this.denied) return;
    if (this.denied !== null) await this.asOwner(`GRANT SELECT ON ${this.denied.table} TO ${this.name}`);
    if (column !== null) await this.denyOne(column);
    this.denied = column;
  }

  /** Drops it together with its database, without which nothing depends on it any more. */
  async drop(): Promise<void> {
    await this.database.drop();
    await onServer(`DROP ROLE ${this.name}`);
  }

  /** A privilege on a table covers all of its columns, so it is exchanged for one on each of the others. */
  private denyOne({ table, name }: Column): Promise<void> {
    return onPostgres(this.database.url, async (owner) => {
      const others = await owner.query<{ column_name: string }>(
        'SELECT column_name FROM information_schema.columns WHERE table_name = $1 AND column_name <> $2',
        [table, name],
      );
      const readable = others.map(({ column_name }) => column_name).join(', ');
      await owner.query(`
        REVOKE SELECT ON ${table} FROM ${this.name};
        GRANT SELECT (${readable}) ON ${table} TO ${this.name}`);
    });
  }

  private async asOwner(statement: string): Promise<void> {
    await onPostgres(this.database.url, (owner: Outsider) => owner.query(statement));
  }
}
