/** generated/missing.ts: the names of PyTorch that an object here has not, and where what they name is. */
import { publicNames } from "../../scripts/docs/public-names.ts";
import { camel } from "../model/load.ts";
import { PEERS } from "../peers/names.ts";

/** By owner: PyTorch's list of names, how our members begin, and PyTorch's prefixes of functions of the same sense. */
const OWNERS: Readonly<Record<string, { peer: string; members: string; torch: readonly string[] }>> = {
  Tensor: { peer: "Tensor", members: "Tensor#", torch: ["torch."] },
  TensorDict: { peer: "TensorDict", members: "TensorDictBase#", torch: ["TensorDict.", "tensordict."] },
  Module: { peer: "torch.nn.Module", members: "nn.Module#", torch: [] },
  F: { peer: "torch.nn.functional", members: "F.", torch: ["torch.", "torch.special."] },
  linalg: { peer: "torch.linalg", members: "linalg.", torch: ["torch."] },
  special: { peer: "torch.special", members: "special.", torch: ["torch."] },
};

/** Words that objects of any kind have, and that nobody takes for PyTorch's. */
const COMMON = new Set(["H", "dtype", "index", "indices", "mH", "name", "names", "new", "shape", "type", "values"]);
/** What only other devices, layouts and element types need. */
const FOREIGN =
  /sparse|quant|mkldnn|^q_|_copy$|^is_(ipu|maia|mps|mtia|vulkan|xla|xpu)|^(c?col|c?row|crow)_indices|^(ipu|mtia|xpu)$/;

export function emitMissing(): string {
  const { names } = publicNames();
  const ours = new Set(names.map(({ name }) => name));
  const places = new Map<string, string>();
  for (const { name, torch } of names) if (torch != null && !name.includes("#")) places.set(torch, name);
  const out = [
    "/** By owner: the names, and behind `=` where there is the same; nothing behind it where there is not. */",
  ];
  out.push("export const MISSING: Readonly<Record<string, string>> = {");
  for (const [owner, { peer, members, torch }] of Object.entries(OWNERS)) {
    const words: string[] = [];
    for (const name of PEERS[peer] as string[]) {
      if (COMMON.has(name) || FOREIGN.test(name) || ours.has(members + name)) continue;
      if (ours.has(members + camel(name))) {
        words.push(`${name}=.${camel(name)}`);
        continue;
      }
      const place = torch.map((prefix) => places.get(prefix + name)).find((found) => found !== undefined);
      words.push(`${name}=${place ?? ""}`);
      const spelled = camel(name);
      if (spelled !== name && !ours.has(members + spelled) && !/[.]$/.test(members))
        words.push(`${spelled}=${place ?? ""}`);
    }
    out.push(`  ${owner}:`, `    ${JSON.stringify(words.join(" "))},`);
  }
  return `${out.join("\n")}\n};\n`;
}
