import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule, getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { type ReveilleOptions, REVEILLE_OPTIONS } from '../config/options.js';
import { Channel } from './channel.js';
import { ClockCorrection } from './clock-correction.js';
import { type SchemaOptions, dataSourceOptions } from './data-source-options.js';
import { DatabaseHome } from './database-home.js';
import { Database } from './database.js';
import { Dialect } from './dialect.js';
import { DatabaseLeaseClock, LeaseClock } from './lease-clock.js';
import { ProcessLock } from './process-lock.js';
import { Transactions } from './transactions.js';

/** Our DataSource has a name of its own, so that a host's unnamed one can live beside it. */
const DATA_SOURCE = 'reveille';

/** A module of its own because both the DataSource and what is built on it need the same claimed place. */
@Module({ providers: [DatabaseHome], exports: [DatabaseHome] })
class DatabaseHomeModule {}

/** Opens the database and gives out what may be done with it: transactions, dialect, lease clock, and speaking with its other users. */
@Global()
@Module({})
export class DatabaseModule {
  static register(schema: SchemaOptions): DynamicModule {
    const dataSource = TypeOrmModule.forRootAsync({
      name: DATA_SOURCE,
      imports: [DatabaseHomeModule],
      inject: [DatabaseHome],
      useFactory: async (home: DatabaseHome) => ({
        ...dataSourceOptions(await home.moveIn(), schema),
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- TypeORM ignores it, @nestjs/typeorm closes by it
        name: DATA_SOURCE,
        // A server that cannot reach its database says so at once; whoever supervises it decides how often to try.
        retryAttempts: 0,
      }),
    });
    return {
      module: DatabaseModule,
      imports: [dataSource],
      providers: [
        {
          provide: Database,
          inject: [getDataSourceToken(DATA_SOURCE), REVEILLE_OPTIONS],
          useFactory: (writer: DataSource, options: ReveilleOptions) => Database.open(writer, options),
        },
        {
          provide: Transactions,
          inject: [Database],
          useFactory: ({ transactions }: Database) => transactions,
        },
        { provide: Dialect, inject: [Database], useFactory: ({ dialect }: Database) => dialect },
        { provide: Channel, inject: [Database], useFactory: ({ channel }: Database) => channel },
        { provide: ProcessLock, inject: [Database], useFactory: ({ processLock }: Database) => processLock },
        { provide: LeaseClock, useClass: DatabaseLeaseClock },
        ClockCorrection,
      ],
      exports: [Database, Transactions, Dialect, Channel, ProcessLock, LeaseClock],
    };
  }
}
