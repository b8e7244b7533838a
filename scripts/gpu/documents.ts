// The documents' rows that need a device.

import { SEEDS } from "../../test/seeds/manifest.ts";
import { captured, openScope, type Row } from "../../test/seeds/row.ts";
import { isLate, type Part } from "./parts.ts";

type AnyRow = Row<never> & { device?: string };

/** Whether the printed text is the row's. */
function fits(row: AnyRow, printed: string): boolean {
  return row.prints instanceof RegExp ? row.prints.test(printed) : printed === (row.prints ?? "");
}

export const documents: Part = async (run) => {
  const wrong: string[] = [];
  let passed = 0;
  for (const { seed, rows } of SEEDS) {
    // Rows of a document go on with each other's variables.
    if (!(rows as readonly AnyRow[]).some((row) => row.device !== undefined)) continue;
    const { scope, remove } = openScope();
    try {
      for (const row of rows as readonly AnyRow[]) {
        if (isLate(run)) break;
        const printed = await captured(() => row.code(scope as never)).catch((error) => String(error));
        if (row.device === undefined) continue;
        if (fits(row, printed)) passed++;
        else wrong.push(`${seed}, line ${row.line}: ${printed.slice(0, 200)}`);
      }
    } finally {
      remove();
    }
  }
  if (passed + wrong.length === 0) return { state: "left out", note: "no row of the documents needs a device" };
  run.results.record.conformance.documents = { passed, wrong };
  return wrong.length > 0 ? { state: "failed", note: `${wrong.length} rows are wrong` } : undefined;
};
