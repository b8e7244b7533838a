// Exit codes and the error that carries one.

/** What the process ends with. A signal adds its number to 128, as shells have it. */
export const EXIT = { done: 0, failed: 1, usage: 2, signalled: 128 } as const;

/** A mistake of the user, told in one message. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = EXIT.failed,
  ) {
    super(message);
  }
}
