/** The name and the text of what a call throws, "no error" where it throws nothing. */
export function thrown(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return "no error";
}
