// The seeds' rows with a device as the default one: they print what they print on the CPU, but for the device.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setDefaultDevice } from "../../src/index.ts";
import { captured, isWithoutEngine, openScope } from "../seeds/row.ts";
import { seed001 } from "../seeds/seed-001.ts";
import { seed002 } from "../seeds/seed-002.ts";
import { seed003 } from "../seeds/seed-003.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

/** The same without what a device changes. */
const plain = (text: string): string =>
  text
    .replaceAll(", device='cuda:0'", "")
    .replaceAll("device=cuda:0", "device=cpu")
    .replaceAll("is_shared=True", "is_shared=False");

/** Rows by document and line that differ on a device, and why. */
const OTHERWISE: Readonly<Record<string, string>> = {
  "003/220": "a device draws other random numbers",
};
/** Rows of the first lines measure memory: they say themselves where. */
const FIRST_LINE: Readonly<Record<string, number>> = { "003": 96 };

for (const { seed, rows } of available ? [seed001, seed002, seed003] : []) {
  describe(`seed ${seed} on a device`, () => {
    let opened: ReturnType<typeof openScope>;
    beforeAll(() => {
      opened = openScope();
      setDefaultDevice("cuda");
    });
    afterAll(() => {
      setDefaultDevice(null);
      opened.remove();
    });
    for (const row of rows) {
      if (row.line < (FIRST_LINE[seed] ?? 0)) continue;
      test.skipIf(isWithoutEngine(row))(`line ${row.line}: ${row.python}`, async () => {
        const text = await captured(() => row.code(opened.scope));
        if (`${seed}/${row.line}` in OTHERWISE) return;
        if (row.prints instanceof RegExp) expect(plain(text)).toMatch(row.prints);
        else expect(plain(text)).toBe(plain(row.prints ?? ""));
      });
    }
  });
}
