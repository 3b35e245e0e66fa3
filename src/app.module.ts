import { type DynamicModule, Module } from '@nestjs/common';
import { LoggerModule } from 'nestjs-pino';
import type { ServerSettings } from './config/read-environment.js';
import { ReveilleModule } from './reveille.module.js';

/** The stand-alone service: Reveille, and a logger that writes JSON lines. */
@Module({})
export class AppModule {
  static with({ options, logLevel }: ServerSettings): DynamicModule {
    return {
      module: AppModule,
      imports: [
        LoggerModule.forRoot({
          pinoHttp: {
            level: logLevel,
            // A token in a header or an id in a query string has no business in a log.
            serializers: { req: briefly, res: ({ statusCode }: { statusCode: number }) => ({ statusCode }) },
            customLogLevel: (_request, { statusCode }) => (statusCode >= 500 ? 'error' : 'debug'),
          },
        }),
        ReveilleModule.forRoot(options),
      ],
    };
  }
}

function briefly({ id, method, url }: { id: unknown; method: string; url: string }) {
  return { id, method, url: url.split('?')[0] };
}
