// The one way in: `node scripts/run.mjs <command>`, under node or bun, from a fresh clone with nothing installed.
// Installs the tools and builds the native library if needed, then runs the command with the repository's own bun.

import { join } from "node:path";
import process from "node:process";
import {
  buildBundle,
  buildLibrary,
  describeBuild,
  ensureInstalled,
  findBun,
  root,
  run,
  ToolError,
  toolEnv,
} from "./toolchain.mjs";

const usage = `usage: node scripts/run.mjs <command> [arguments]
  build [--force]        build the native library, and the one file that users import
        [--dev]          for this machine's processor alone, with the kernels of GPUs
  demo                   build what this machine can run, then run examples/demo.ts
  dev [--watch]          generate, build for this machine's processor, run the tests that changes reach
  test [step...]         run what a change here can break (scripts/test.ts builds by itself)
  test --all [step...]   run every check: all instruction sets and platforms, packing, long campaigns
  run <file> [args...]   build, then run a file with bun
  tool <file> [args...]  run a file with bun, without a build`;

/** Builds without noise when nothing changed. */
function build({ force = false, scope = /** @type {import("./toolchain.mjs").Scope} */ ("all") } = {}) {
  const result = buildLibrary({ force, scope });
  if (result.built) console.log(describeBuild(result));
  buildBundle({ force });
  return result;
}

/** @param {string} file @param {string[]} args */
function bun(file, args) {
  const program = findBun();
  if (program === undefined) throw new ToolError("bun is not installed");
  return run([program, join(root, file), ...args], { env: toolEnv() });
}

/** @param {string | undefined} command @param {string[]} args @returns {number} */
function main(command, args) {
  const [file, ...rest] = args;
  const known = ["build", "demo", "dev", "test", "run", "tool"];
  if (command === undefined || !known.includes(command) || (/^(run|tool)$/.test(command) && file === undefined)) {
    console.error(usage);
    return 2;
  }
  ensureInstalled();
  if (command === "test") return bun("scripts/test.ts", args);
  if (command === "tool") return bun(file ?? "", rest);
  if (command === "dev") return bun("scripts/dev.ts", args);
  const result = build({
    force: command === "build" && args.includes("--force"),
    scope: command === "demo" ? "own" : args.includes("--dev") ? "dev" : "all",
  });
  if (command === "build") {
    if (!result.built) console.log(describeBuild(result));
    return 0;
  }
  if (command === "demo") {
    if (!result.built) console.log(describeBuild(result));
    return bun("examples/demo.ts", args);
  }
  return bun(file ?? "", rest);
}

try {
  process.exitCode = main(process.argv[2], process.argv.slice(3));
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  console.error(`error: ${error.message}`);
  if (process.argv[2] === "test") console.log("0 passed, 1 failed");
  process.exitCode = 1;
}
