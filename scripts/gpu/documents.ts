// The documents that work with a device, row by row, as the tests of test/seeds run them.
import { SEEDS } from "../../test/seeds/manifest.ts";
import { captured, openScope, type Row } from "../../test/seeds/row.ts";
import { isLate, type Part } from "./parts.ts";

type AnyRow = Row<never>;

/** A document whose tensors are too large for the stand-in. */
const LARGE: readonly string[] = ["003"];

const namesDevice = (row: AnyRow): boolean => /cuda/.test(`${row.code} ${row.prints}`);

/** Whether the printed text is the row's. */
function fits(row: AnyRow, printed: string): boolean {
  return row.prints instanceof RegExp ? row.prints.test(printed) : printed === (row.prints ?? "");
}

export const documents: Part = async (run) => {
  const wrong: string[] = [];
  let passed = 0;
  for (const { seed, rows } of SEEDS) {
    // Rows of a document go on with each other's variables, so that all of its rows run.
    const all = rows as readonly AnyRow[];
    if (!all.some(namesDevice) || (run.small && LARGE.includes(seed))) continue;
    const { scope, remove } = openScope();
    try {
      for (const row of all) {
        if (isLate(run)) break;
        const printed = await captured(() => row.code(scope as never)).catch((error) => String(error));
        if (fits(row, printed)) passed++;
        else wrong.push(`${seed}, line ${row.line}: ${printed.slice(0, 200)}`);
      }
    } finally {
      remove();
    }
  }
  if (passed + wrong.length === 0) return { state: "left out", note: "no document of this size names a device" };
  run.results.record.conformance.documents = { passed, wrong };
  return wrong.length > 0 ? { state: "failed", note: `${wrong.length} rows are wrong` } : undefined;
};
