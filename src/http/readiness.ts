import { Injectable, type OnModuleDestroy } from '@nestjs/common';

/** Whether the server still wants work. The first thing that a stopping server says is no. */
@Injectable()
export class Readiness implements OnModuleDestroy {
  draining = false;

  onModuleDestroy(): void {
    this.draining = true;
  }
}
