import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections on which nobody has asked anything yet. Node's own `closeIdleConnections` takes them for busy. */
export class SilentConnections {
  private readonly sockets = new Set<Socket>();
  private closing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      if (this.closing) socket.destroy();
      else this.watch(socket);
    });
    server.on('request', ({ socket }) => {
      this.sockets.delete(socket);
    });
  }

  /** Cuts them, and from now on every new one. */
  cut(): void {
    this.closing = true;
    for (const socket of this.sockets) socket.destroy();
  }

  private watch(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => {
      this.sockets.delete(socket);
    });
  }
}
