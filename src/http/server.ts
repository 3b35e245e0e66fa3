import type { IncomingHttpHeaders } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { cleanupOpenApiDoc } from 'nestjs-zod';
import { BATCH_BODY_LIMIT, BODY_LIMIT } from './limits.js';
import { Readiness } from './readiness.js';
import { SilentConnections } from './silent-connections.js';

/** The HTTP server under the stand-alone service. */
export function fastifyAdapter(): FastifyAdapter {
  const adapter = new FastifyAdapter({
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: 'idle',
    // Longer than an id may be, so that a longer one is refused in our own words.
    routerOptions: { maxParamLength: 1_000 },
  });
  const instance = adapter.getInstance();
  instance.addHook('onRoute', (route) => {
    if (route.url === '/v1/wakes/batch') route.bodyLimit = BATCH_BODY_LIMIT;
  });
  instance.addHook('onRequest', (request, _reply, done) => {
    if (hasNoBody(request.headers)) delete request.headers['content-type'];
    done();
  });
  return adapter;
}

/** A client that names the type of a body and sends none is taken at the body: many name it with every request. */
function hasNoBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
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
