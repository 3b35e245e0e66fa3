/** The one source of the present instant, in integer milliseconds since 1970. Injected, so that tests move it. */
export abstract class Clock {
  abstract now(): number;
}
