// The switch of a library that has all mutants of its kernels in it (scripts/mutate/zig-instrument.ts).
import { dlopen, toArrayBuffer } from "bun:ffi";
import { join } from "node:path";
import { ROOM, type Switch } from "../../scripts/mutate/switch.ts";
import { libraryFile, root as own } from "../../scripts/toolchain.mjs";

export function kernelSwitch(root: string): Pick<Switch, "on" | "hits" | "steps" | "most"> {
  const { symbols } = dlopen(join(root, libraryFile().slice(own.length + 1)), {
    zs_mutate: { args: ["u32"], returns: "void" },
    zs_mutant_hits: { args: [], returns: "ptr" },
  });
  let on = -1;
  return {
    get on() {
      return on;
    },
    set on(id) {
      on = id;
      symbols.zs_mutate(id < 0 ? ROOM : id);
    },
    hits: new Uint8Array(toArrayBuffer(symbols.zs_mutant_hits() as never, 0, ROOM)),
    steps: 0,
    most: Number.POSITIVE_INFINITY,
  };
}
