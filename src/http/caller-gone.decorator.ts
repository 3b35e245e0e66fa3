import type { ServerResponse } from 'node:http';
import { type ExecutionContext, createParamDecorator } from '@nestjs/common';

/** Aborted when the caller hangs up before the answer has been written. */
export const CallerGone = createParamDecorator((_data: unknown, context: ExecutionContext): AbortSignal => {
  const response = responseIn(context);
  const gone = new AbortController();
  const look = (): void => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.closed) look();
  else response.once('close', look);
  return gone.signal;
});

/** Node's own response: some adapters put theirs around it. */
function responseIn(context: ExecutionContext): ServerResponse {
  const response = context.switchToHttp().getResponse<ServerResponse & { readonly raw?: ServerResponse }>();
  return response.raw ?? response;
}
