// Programs of tests that tell of their work in lines: one that says nothing for too long hangs, and is ended.

/**
 * Gives each whole line that a child prints to `take`, and ends it when it is silent for too long.
 * @param firstMs how long it may be silent at the beginning
 */
export async function watchLines(
  child: Bun.Subprocess<"ignore", "pipe", "pipe">,
  silentMs: number,
  take: (line: string) => void,
  firstMs = silentMs,
): Promise<void> {
  const watch = (ms: number) => setTimeout(() => child.kill("SIGKILL"), ms);
  let silent = watch(firstMs);
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    clearTimeout(silent);
    silent = watch(silentMs);
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) take(line);
  }
  clearTimeout(silent);
  await child.exited;
}
