// One scenario for all writers, in a process of its own: it may run out of something, or be killed. Prints one line of
// JSON: what went wrong, by writer. `program.ts <scenario> <directory>`
import "../../src/install.ts";
import { writeSync } from "node:fs";
import type { Problems } from "./checks.ts";
import { SCENARIOS } from "./scenarios.ts";

const [scenario, directory] = process.argv.slice(2) as [string, string];
const run = SCENARIOS[scenario];
if (run === undefined) throw new Error(`no scenario ${scenario}`);
const problems: Problems = await run(directory);
writeSync(1, `\n${JSON.stringify(problems)}\n`);
process.exit(0);
