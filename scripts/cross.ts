// Builds the native library for every platform from this one: `bun scripts/cross.ts [target...]`. Checks what can be
// checked without that platform: what the file says about itself. Prints a table.

import { statSync } from "node:fs";
import { crossBuild, PLATFORMS } from "./pack/platforms.ts";
import { ToolError } from "./toolchain.mjs";

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !PLATFORMS.some((p) => p.triple === name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(" ")}`);
  process.exit(2);
}
console.log("| target | library | build |\n| --- | --- | --- |");
for (const platform of PLATFORMS.filter((p) => wanted.length === 0 || wanted.includes(p.triple))) {
  const start = performance.now();
  try {
    const file = crossBuild(platform);
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    console.log(`| \`${platform.triple}\` | ${(statSync(file).size / 1e6).toFixed(2)} MB | ${seconds} s |`);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.log(`| \`${platform.triple}\` | FAILED: ${error.message} |`);
    process.exitCode = 1;
  }
}
