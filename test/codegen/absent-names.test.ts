// What the tables of names say is not there, is not there: no public name is its spelling here.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { camel } from "../../codegen/model/load.ts";
import { publicNames } from "../../scripts/docs/public-names.ts";

const generated = join(import.meta.dir, "..", "..", "generated");
const { names, aliases } = publicNames();
const ours = new Set([...names.map(({ name }) => name), ...aliases.map(([name]) => name)]);

/** Names by the namespace that their list is headed with. */
function absentOf(file: string): Map<string, string[]> {
  const [, open = ""] = readFileSync(join(generated, file), "utf8").split("## Not there yet");
  const lists = open.matchAll(/^\*\*([\w. ]+)\*\* \(\d+ of \d+\): (.*)$/gm);
  return new Map(
    [...lists].map(([, space, list]) => [
      space as string,
      [...(list as string).matchAll(/`(\w+)`/g)].map((match) => match[1] as string),
    ]),
  );
}

/** What begins the public names of a namespace of PyTorch. */
const HERE: Readonly<Record<string, string>> = {
  torch: "",
  Tensor: "Tensor#",
  "torch.nn": "nn.",
  "torch.nn.functional": "nn.functional.",
  "torch.linalg": "linalg.",
  "torch.special": "special.",
  "torch.func": "func.",
  "torch.autograd": "autograd.",
  "torch.distributions": "distributions.",
};

const absent = absentOf("FROM-PYTORCH.md");

for (const [space, prefix] of Object.entries(HERE)) {
  test(`what is said not to be there of ${space}`, () => {
    const list = absent.get(space) ?? [];
    expect(list.length).toBeGreaterThan(0);
    expect(list.filter((name) => ours.has(prefix + camel(name)) || ours.has(prefix + name))).toEqual([]);
  });
}

test("the spellings of names that are there would be found", () => {
  for (const name of [
    "greaterEqual",
    "Tensor#mT",
    "nn.MSELoss",
    "linalg.vectorNorm",
    "special.expit",
    "func.hessian",
  ]) {
    expect(ours).toContain(name);
  }
});
