// A bar on a terminal while a command works.
import { SingleBar } from "cli-progress";

/** A bar, or nothing where no terminal is. */
export interface Progress {
  update(done: number, total: number): void;
  stop(): void;
}

const MIB = 2 ** 20;

/** Shows bytes on a bar that counts "MiB". */
export function inMebibytes(bar: Progress): Progress["update"] {
  return (done, total) => bar.update(Math.round(done / MIB), Math.max(1, Math.round(total / MIB)));
}

/** A bar that counts `unit`. */
export function progressBar(unit: string, quiet = false): Progress {
  if (quiet || !process.stderr.isTTY) return { update() {}, stop() {} };
  const format = `{bar} {value}/{total} ${unit}, {eta_formatted} left`;
  const bar = new SingleBar({ format, stream: process.stderr, clearOnComplete: true });
  let begun = false;
  return {
    update(done, total) {
      if (!begun) bar.start(total, done);
      else bar.update(done);
      begun = true;
    },
    stop: () => bar.stop(),
  };
}
