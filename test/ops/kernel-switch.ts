// The switch of a library that has all mutants of its kernels in it (scripts/mutate/zig-instrument.ts).
import { dlopen, toArrayBuffer } from "bun:ffi";
import { join } from "node:path";
import { ROOM, type Switch } from "../../scripts/mutate/switch.ts";
import { libraryFile, root as own } from "../../scripts/toolchain.mjs";

const place = (root: string): string => join(root, libraryFile().slice(own.length + 1));

/** The numbers of the mutants whose switch is in the library: those of other instruction sets' code are not. */
export function switchable(root: string): number[] {
  const { symbols } = dlopen(place(root), {
    zs_mutants_begin: { args: [], returns: "ptr" },
    zs_mutants_end: { args: [], returns: "ptr" },
  });
  const [from, to] = [symbols.zs_mutants_begin(), symbols.zs_mutants_end()] as [number, number];
  return [...new Set(new Uint32Array(toArrayBuffer(from as never, 0, to - from)))].sort((a, b) => a - b);
}

export function kernelSwitch(root: string): Pick<Switch, "on" | "hits" | "steps" | "most"> {
  const { symbols } = dlopen(place(root), {
    zs_mutate: { args: ["u32"], returns: "void" },
    zs_mutant_hits: { args: [], returns: "ptr" },
  });
  let on = Number(process.env.MUTANT ?? -1);
  symbols.zs_mutate(on < 0 ? ROOM : on);
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
