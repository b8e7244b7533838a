// Stands in for bun:test in the instrumented copy: tests are collected, so that any of them can run at any time.
import { expect, jest, mock, setSystemTime, spyOn } from "bun:test";

export { expect, jest, mock, setSystemTime, spyOn };

type Work = () => unknown;

export interface Collected {
  file: string;
  name: string;
  before: readonly Work[];
  work: Work;
  after: readonly Work[];
}

export const collected: Collected[] = [];
/** Where the next test belongs. */
export const at = { file: "", prefix: "", before: [] as Work[], after: [] as Work[] };

export function describe(name: string, work: Work): void {
  const { prefix, before, after } = at;
  Object.assign(at, { prefix: `${prefix}${name} > `, before: [...before], after: [...after] });
  work();
  Object.assign(at, { prefix, before, after });
}

export function test(name: string, work?: Work): void {
  const { file, prefix, before, after } = at;
  if (work !== undefined) collected.push({ file, name: prefix + name, before, work, after });
}
export const it = test;

const nothing = (): void => {};
test.skip = nothing;
test.todo = nothing;
test.skipIf = (skip: unknown) => (skip ? nothing : test);
test.if = (run: unknown) => (run ? test : nothing);
test.each = (rows: readonly unknown[]) => (name: string, work: (...row: unknown[]) => unknown) =>
  rows.forEach((row, i) => test(`${name} ${i}`, () => (Array.isArray(row) ? work(...row) : work(row))));
describe.each = (rows: readonly unknown[]) => (name: string, work: (...row: unknown[]) => void) =>
  rows.forEach((row, i) => describe(`${name} ${i}`, () => (Array.isArray(row) ? work(...row) : work(row))));
describe.skip = nothing;
describe.skipIf = (skip: unknown) => (skip ? nothing : describe);
describe.if = (run: unknown) => (run ? describe : nothing);

/** What is done once before or after all tests of a file is done around each. */
export const beforeAll = (work: Work): void => void at.before.push(work);
export const beforeEach = beforeAll;
export const afterAll = nothing;
export const afterEach = (work: Work): void => void at.after.push(work);
