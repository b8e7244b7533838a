// What the tables of names say is not there, is not there: by the programs' own names.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as zensor from "zensor";
import { camel } from "../../codegen/model/load.ts";

const generated = join(import.meta.dir, "..", "..", "generated");

/** Names by the namespace that their list is headed with. */
function absentOf(file: string): Map<string, string[]> {
  const [, open = ""] = readFileSync(join(generated, file), "utf8").split("## Not there yet");
  const lists = open.matchAll(/^\*\*([\w. ]+)\*\* \(\d+ of \d+\): (.*)$/gm);
  return new Map(
    [...lists].map(([, space, names]) => [
      space as string,
      [...(names ?? "").matchAll(/`(\w+)`/g)].map((m) => String(m[1])),
    ]),
  );
}

/** What a namespace of PyTorch is here. */
const HERE: Readonly<Record<string, object>> = {
  torch: zensor,
  Tensor: zensor.Tensor.prototype,
  "torch.nn": zensor.nn,
  "torch.nn.functional": zensor.nn.functional,
  "torch.linalg": zensor.linalg,
  "torch.special": zensor.special,
  "torch.func": zensor.func,
  "torch.autograd": zensor.autograd,
  "torch.distributions": zensor.distributions,
};

const names = absentOf("FROM-PYTORCH.md");

for (const [space, here] of Object.entries(HERE)) {
  test(`what is said not to be there of ${space}`, () => {
    const list = names.get(space) ?? [];
    expect(list.length).toBeGreaterThan(0);
    const there = list.filter((name) => camel(name) in here || name in here);
    expect(there).toEqual([]);
  });
}
