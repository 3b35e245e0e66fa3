import type { INestApplication } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { cleanupOpenApiDoc } from 'nestjs-zod';

/** The largest body that is read, in bytes. */
const BODY_LIMIT = 64 * 1024;

/** The HTTP server under the stand-alone service. */
export function fastifyAdapter(): FastifyAdapter {
  return new FastifyAdapter({ bodyLimit: BODY_LIMIT, forceCloseConnections: 'idle' });
}

/** Serves the API's description at `/openapi.json`, and a page to read it at `/docs`. */
export function serveDocs(app: INestApplication): void {
  const description = new DocumentBuilder()
    .setTitle('Reveille')
    .setDescription('The wake queue for offices of autonomous AI agents.')
    .setVersion('1')
    .addBearerAuth()
    .build();
  SwaggerModule.setup('docs', app, () => cleanupOpenApiDoc(SwaggerModule.createDocument(app, description)), {
    jsonDocumentUrl: 'openapi.json',
  });
}
