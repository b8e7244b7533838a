/**
 * Makes the files that `import "zensor"` loads, of the sources: the core as compiled code, where each part of the
 * library comes into being when it is first touched, and the module in front of it that has the public names.
 *   bun scripts/bundle/main.ts            into build/lib, for this clone
 *   bun scripts/bundle/main.ts --profile  finds what programs touch (`programs.ts`) and writes profile.json
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { libraryFile, root } from "../toolchain.mjs";
import { entryText } from "./entry.ts";
import { readExports, readParts, writeCompiled, writeNames } from "./parts.ts";
import { writeProfile } from "./profile.ts";

const folder = join(root, "build", "bundle");
const lib = join(root, "build", "lib");

/** How a clone gets at the core: sources that are newer than the built file are what is loaded. */
const HEAD = `import "../../src/needs-bun.cjs";
const { bundleIsCurrent: $isCurrent } = require("../../src/bundle.cjs");
const $get = $isCurrent() ? require("./zensor.compiled.js") : $of(require("../../src/index.ts"));
function $of(sources) { return (name) => sources[name]; }`;

function build(): void {
  const parts = readParts(folder);
  const core = writeCompiled(parts, folder, lib);
  writeFileSync(join(lib, "zensor.mjs"), entryText(HEAD, readExports(parts, core, libraryFile())));
  writeNames(parts, join(lib, "names.cjs"));
}

const { values } = parseArgs({ options: { profile: { type: "boolean", default: false } } });
if (values.profile) writeProfile(folder);
build();
