import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import request from 'supertest';
import { ADMIN_TOKEN, type TestReveille } from './reveille.js';

/** An answer, with the body as the test expects to find it. */
export interface Answer<Body> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Calls the API as the holder of one token; null calls without any. */
export class Api {
  constructor(
    private readonly reveille: TestReveille,
    private readonly token: string | null = ADMIN_TOKEN,
  ) {}

  as(token: string | null): Api {
    return new Api(this.reveille, token);
  }

  get<Body = unknown>(path: string): Promise<Answer<Body>> {
    return this.call('get', path);
  }

  post<Body = unknown>(path: string, body: object = {}): Promise<Answer<Body>> {
    return this.call('post', path, body);
  }

  put<Body = unknown>(path: string, body: object = {}): Promise<Answer<Body>> {
    return this.call('put', path, body);
  }

  patch<Body = unknown>(path: string, body: object = {}): Promise<Answer<Body>> {
    return this.call('patch', path, body);
  }

  delete<Body = unknown>(path: string): Promise<Answer<Body>> {
    return this.call('delete', path);
  }

  /** Names the type of a body and sends none. */
  bare(method: Method, path: string): Promise<Answer<unknown>> {
    return this.call(method, path, '');
  }

  /** Any method, for tests that walk over routes. */
  async call<Body>(method: Method, path: string, body?: object | ''): Promise<Answer<Body>> {
    const app = this.reveille.app as NestFastifyApplication;
    const pending = request(app.getHttpServer())[method](path);
    if (this.token !== null) pending.set('Authorization', `Bearer ${this.token}`);
    if (body === '') pending.set('Content-Type', 'application/json');
    const response = await (body === undefined || body === '' ? pending : pending.send(body));
    return {
      status: response.status,
      headers: response.headers,
      body: response.body as Body,
    };
  }
}
