import { type QueryRunner, Table, type TableColumnOptions, type TableIndexOptions } from 'typeorm';

type Extra = Pick<TableColumnOptions, 'isNullable' | 'isPrimary'>;

export const nullable: Extra = { isNullable: true };
export const primary: Extra = { isPrimary: true };

/** Builds tables whose columns mean the same on both databases. Migrations that have run rely on it: it does not change. */
export class TableBuilder {
  private readonly postgres: boolean;

  constructor(private readonly runner: QueryRunner) {
    this.postgres = runner.connection.options.type === 'postgres';
  }

  /** Ids and words are compared byte by byte: SQLite does so by itself, PostgreSQL by the collation named here. */
  text(name: string, extra: Extra = {}): TableColumnOptions {
    return { name, type: 'text', ...(this.postgres ? { collation: 'C' } : {}), ...extra };
  }

  integer(name: string, extra: Extra = {}): TableColumnOptions {
    return { name, type: 'integer', ...extra };
  }

  bigint(name: string, extra: Extra = {}): TableColumnOptions {
    return { name, type: 'bigint', ...extra };
  }

  boolean(name: string): TableColumnOptions {
    return { name, type: 'boolean' };
  }

  async create(
    name: string,
    columns: TableColumnOptions[],
    indices: TableIndexOptions[] = [],
  ): Promise<void> {
    const named = columns.map((column) =>
      column.isPrimary === true ? { ...column, primaryKeyConstraintName: `${name}_pk` } : column,
    );
    await this.runner.createTable(new Table({ name, columns: named, indices }));
  }
}
