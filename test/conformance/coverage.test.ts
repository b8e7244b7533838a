// Every public operator, second names included, has cases that torch made in this repository.
import { expect, test } from "bun:test";
import { namesWithCases, namesWithoutCases, publicNames } from "./covered.ts";

test("every public operator has cases made by torch", () => {
  expect(publicNames().size).toBeGreaterThan(200);
  // scripts/oracle/select_small_cases.py takes them from a large set; what that lacks goes into exact_calls.py.
  expect(namesWithoutCases()).toEqual([]);
});

test("an operator without cases is seen", () => {
  expect(namesWithCases().has("negateEverything")).toBe(false);
  expect(publicNames().has("nn.functional.relu")).toBe(true);
  expect(publicNames().has("concat")).toBe(true);
});
