// What the library gives back nobody can reach: programs with hooks, views, second gradients, retained graphs and
// errors half-way see the values that they see where nothing is given back. ZENSOR_GIVEN_BACK_SECONDS goes on longer.
import { expect, test } from "bun:test";
import { differences } from "../given-back.ts";
import { outcome } from "./given-back-programs.ts";

test("programs see what they see where nothing is given back", () => {
  expect(differences((seed) => outcome(seed, 6 + (seed % 25)), 400, 4000)).toEqual([]);
}, 3_600_000);
