// How dates and times of Python are told, which their pickles pack into bytes.
import { expect, test } from "bun:test";
import { io } from "../../src/index.ts";

const moment = (name: string, bytes: number[], ...zone: unknown[]) =>
  String(new io.PythonObject(new io.PythonName("datetime", name), { args: [new Uint8Array(bytes), ...zone] }));

test.each([
  ["datetime", [7, 232, 12, 2, 3, 4, 5, 1, 226, 64], "datetime.datetime(2024, 12, 2, 3, 4, 5, 123456)"],
  ["date", [7, 207, 12, 31], "datetime.date(1999, 12, 31)"],
  ["time", [23, 59, 1, 0, 0, 7], "datetime.time(23, 59, 1, 7)"],
  // An hour that is there twice, and what is no moment.
  ["time", [129, 0, 0, 0, 0, 0], 'datetime.time(b"\\x81\\x00\\x00\\x00\\x00\\x00")'],
  ["datetime", [7, 232, 129, 2, 0, 0, 0, 0, 0, 0], 'datetime.datetime(b"\\x07\\xe8\\x81\\x02'],
  ["date", [7, 207], 'datetime.date(b"\\x07\\xcf")'],
  ["timedelta", [1, 2, 3, 4], 'datetime.timedelta(b"\\x01\\x02\\x03\\x04")'],
])("%s %j", (name, bytes, text) => {
  expect(moment(name, bytes)).toStartWith(text);
});

test("with a zone", () => {
  const zone = new io.PythonObject(new io.PythonName("datetime", "timezone"), { args: [0n] });
  expect(moment("datetime", [7, 232, 1, 2, 0, 0, 0, 0, 0, 0], zone)).toBe(
    "datetime.datetime(2024, 1, 2, 0, 0, 0, 0, datetime.timezone(0))",
  );
});
