// Exit codes and the error that carries one.

/** What the process ends with. */
export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** A mistake of the user, told in one message. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = EXIT.failed,
  ) {
    super(message);
  }
}
