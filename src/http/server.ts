import type { INestApplication } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { cleanupOpenApiDoc } from 'nestjs-zod';
import { BATCH_BODY_LIMIT, BODY_LIMIT } from './limits.js';
import { Readiness } from './readiness.js';
import { SilentConnections } from './silent-connections.js';

/** The HTTP server under the stand-alone service. */
export function fastifyAdapter(): FastifyAdapter {
  const adapter = new FastifyAdapter({ bodyLimit: BODY_LIMIT, forceCloseConnections: 'idle' });
  adapter.getInstance().addHook('onRoute', (route) => {
    if (route.url === '/v1/wakes/batch') route.bodyLimit = BATCH_BODY_LIMIT;
  });
  return adapter;
}

/**
 * Lets a stopping server end. A connection that is answered while the server drains is not kept for a next request, and
 * one on which no request has begun is cut: the server would wait for either as long as its caller likes.
 */
export function endConnectionsWhenDraining(app: NestFastifyApplication): void {
  const readiness = app.get(Readiness, { strict: false });
  const instance = app.getHttpAdapter().getInstance();
  const silent = new SilentConnections(instance.server);
  instance.addHook('onSend', (_request, reply, _payload, done) => {
    if (readiness.draining) reply.header('connection', 'close');
    done();
  });
  instance.addHook('preClose', (done) => {
    silent.cut();
    done();
  });
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
