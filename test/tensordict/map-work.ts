// Functions for the Workers of map.test.ts.
import { arange, initialSeed, ones, type Tensor, TensorDict, tensorclass } from "../../src/index.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { registerTensorClass } from "../../src/tensordict/index.ts";

export class MappedPoint extends tensorclass({ x: null }) {}
registerTensorClass(MappedPoint);

export const addOne = (td: Td): Td => td.empty().set("y", (td.get("x") as Tensor).add(1)) as Td;

/** What a chunk looks like from there. */
export function looks(td: Td): unknown {
  const x = td.get("x") as Tensor;
  return { text: String(td), locked: td.isLocked, names: td.names, className: x.constructor.name };
}

export const seeds = (td: Td): Tensor => ones(td.batchSize.numel(), { dtype: "int64" }).mul(Number(seedHere()));
export const seedHere = (): bigint => BigInt(initialSeed());

/** The later a chunk, the sooner it is done. */
export async function slowly(td: Td): Promise<Tensor> {
  const x = td.get("x") as Tensor;
  await Bun.sleep(60 - 10 * (x.at(0) as Tensor).item<number>());
  return x;
}

export const writes = (td: Td): Td => {
  (td.get("x") as Tensor).add_(100);
  return td;
};

export function leaves(): void {
  process.exit(3);
}

export class OwnError extends Error {
  override name = "OwnError";
}
export function fails(td: Td): Td {
  if ((td.get("x") as Tensor).at(0) instanceof TensorDict) return td;
  throw new OwnError("not this chunk");
}
export const refuses = (td: Td): unknown => td.set("x", arange(7));

const same = (td: Td): Td => td;

// biome-ignore lint/style/noDefaultExport: it is what a module without a name gives
export { same as default };
