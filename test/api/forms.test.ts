// Every operator exists in each form in which torch has it: function, method, in place, with `out`.
// test/fixtures/forms.json holds torch's forms; scripts/oracle/make_forms.py asks torch for them.
import { expect, test } from "bun:test";
import ops from "../../generated/ops.json";
import * as zensor from "../../src/index.ts";
import forms from "../fixtures/forms.json";

const names = zensor as unknown as Record<string, unknown>;
const functional = zensor.nn.functional as unknown as Record<string, unknown>;

/** torch's name in our spelling; a trailing underscore stays. */
function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Whether an overload of the function of this name takes `out`. */
function takesOut(name: string): boolean {
  return ops.some(
    (op) => [op.name, ...op.aliases].includes(camel(name)) && (op.variants as readonly string[]).includes("out"),
  );
}

const exists: Record<string, (name: string) => boolean> = {
  function: (name) => typeof names[camel(name)] === "function",
  method: (name) => camel(name) in zensor.Tensor.prototype,
  inplace: (name) => {
    const method = camel(name.endsWith("_") ? name : `${name}_`);
    return typeof (zensor.Tensor.prototype as unknown as Record<string, unknown>)[method] === "function";
  },
  out: takesOut,
  functional: (name) => typeof functional[camel(name)] === "function",
};

for (const [name, list] of Object.entries(forms)) {
  test(`${name}: ${list.join(", ")}`, () => {
    expect(list.filter((form) => !(exists[form] as (name: string) => boolean)(name))).toEqual([]);
  });
}

test("the check sees a form that is not there", () => {
  expect(exists.function?.("no_such_operator")).toBe(false);
  expect(exists.method?.("zeros")).toBe(false);
  expect(exists.inplace?.("mm")).toBe(false);
  expect(exists.out?.("view")).toBe(false);
});
