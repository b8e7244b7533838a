// Steps that nothing drives are found.

import { expect, test } from "bun:test";
import { checkDriven } from "../../codegen/verify/driven.ts";

const STEPS = `import type { Steps } from "../base/steps.ts";
export function* placing(path: string): Steps<void> { yield; }
class Save { *writing(): Steps<number> { return 1; } }
const swept = (): Steps<void> => placing("a");
`;

/** The lines of a second file that are wrong. */
function wrong(text: string): number[] {
  const found = checkDriven(
    new Map([
      ["src/io/a.ts", STEPS],
      ["src/io/b.ts", text],
    ]),
  );
  return found.map(({ line }) => line);
}

test("a call that only makes steps is found, whatever stands before it", () => {
  const calls = ['placing("b");', "save.writing();", "swept();", 'await placing("b");', 'void placing("b");'];
  for (const call of calls) expect([call, wrong(`async function f() {\n  ${call}\n}\n`)]).toEqual([call, [2]]);
  expect(
    wrong('const f = async () => await placing("b");\nconst g = async () => 1 + (await (save.writing()));\n'),
  ).toEqual([1, 2]);
  expect(wrong('function* f() {\n  yield placing("b");\n}\n')).toEqual([2]);
});

test("steps that are handed on are not", () => {
  const text = `function* f(): Steps<number> {
  yield* placing("b");
  const n = yield* save.writing();
  runSteps(placing("c"));
  await runStepsLater(save.writing());
  const done = () => placing("d");
  return yield* swept();
}
other.places();
`;
  expect(wrong(text)).toEqual([]);
});
