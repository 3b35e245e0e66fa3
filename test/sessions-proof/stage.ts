import { Gate } from '../support/gate.js';
import type { TestReveille } from '../support/reveille.js';
import { type Statement, intercepting } from '../support/statements.js';

/** The statements by which an office session is found or made. */
export const STATEMENTS = {
  begin: /^START TRANSACTION/,
  lookup: /^SELECT .*liveness.* FROM "task_sessions"/s,
  lock: /^SELECT .* FROM "tasks" .* FOR UPDATE/s,
  guard: /^SELECT .*EXISTS.* FROM "task_sessions"/s,
  insert: /^INSERT INTO "task_sessions"/,
  rollback: /^ROLLBACK$/,
  update: /^UPDATE "task_sessions"/,
} as const;

/** Where one statement stands still, just before it is sent. */
interface Stop {
  /** Resolves once the statement has come that far. */
  readonly reached: Promise<void>;
  readonly letGo: () => void;
}

type Cue = (statement: Statement) => Statement | Promise<Statement>;

/** Has statements stop until the test lets them go, or go as other ones: how an interleaving is named. */
export class Stage {
  private readonly cues: { readonly shape: RegExp; readonly cue: Cue }[] = [];
  private readonly replacements: typeof this.cues = [];

  /** Lends a stage to `work`, on which every statement of the Reveille is sent. */
  static on(reveille: TestReveille, work: (stage: Stage) => Promise<void>): Promise<void> {
    const stage = new Stage();
    return intercepting(
      reveille,
      (statement) => stage.send(statement),
      () => work(stage),
    );
  }

  /** Stops the next statement of that shape. */
  stop(shape: RegExp): Stop {
    const reached = new Gate();
    const mayGo = new Gate();
    const cue = async (statement: Statement) => {
      reached.open();
      await mayGo.passed;
      return statement;
    };
    this.cues.push({ shape, cue });
    const letGo = () => {
      mayGo.open();
    };
    return { reached: reached.passed, letGo };
  }

  /** Lets the next so many statements of that shape go only together. */
  together(shape: RegExp, count: number): void {
    const allHere = new Gate();
    let here = 0;
    const cue = async (statement: Statement) => {
      if (++here === count) allHere.open();
      await allHere.passed;
      return statement;
    };
    for (let number = 0; number < count; number++) this.cues.push({ shape, cue });
  }

  /** Sends another statement in the place of each of that shape. */
  replace(shape: RegExp, sql: string): void {
    this.replacements.push({ shape, cue: ({ parameters }) => ({ sql, parameters }) });
  }

  private send(statement: Statement): Statement | Promise<Statement> {
    const isMeant = ({ shape }: { readonly shape: RegExp }) => shape.test(statement.sql);
    const place = this.cues.findIndex(isMeant);
    const [next] = place === -1 ? this.replacements.filter(isMeant) : this.cues.splice(place, 1);
    return next === undefined ? statement : next.cue(statement);
  }
}
