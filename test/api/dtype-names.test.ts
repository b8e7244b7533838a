// Names of dtypes and devices: the compiler knows them, and torch's other names are values.
import { expect, test } from "bun:test";
import * as torch from "../../src/index.ts";

test("torch's other names of dtypes are the dtypes", () => {
  const { long, half, double, short, cfloat, cdouble } = torch;
  const names = [long, half, double, short, cfloat, cdouble].map(String);
  expect(names).toEqual(
    ["int64", "float16", "float64", "int16", "complex64", "complex128"].map((name) => `torch.${name}`),
  );
  expect(torch.ones(2, { dtype: torch.long }).dtype).toBe(torch.int64);
});

test("strings that are no names are refused, by the compiler too", () => {
  expect(torch.ones(1, { dtype: "float64" }).dtype).toBe(torch.float64);
  expect(torch.ones(1, { dtype: "torch.int8" }).to("double").dtype).toBe(torch.float64);
  // @ts-expect-error
  expect(() => torch.ones(1, { dtype: "flaot32" })).toThrow("flaot32");
  // @ts-expect-error
  expect(() => torch.ones(1).to("flaot32")).toThrow("flaot32");
  // @ts-expect-error
  expect(() => torch.ones(1, { device: "gpu" })).toThrow("gpu");
  // @ts-expect-error
  expect(() => torch.device("gpu")).toThrow("gpu");
  expect(torch.device("cpu:0")).toBe(torch.ones(1).device);
  const names: torch.DTypeName[] = ["long", "torch.half", "bfloat16"];
  const devices: torch.DeviceName[] = ["cuda", "cuda:1", "meta"];
  expect(names.length + devices.length).toBe(6);
});

test("a TensorDict and a module move by name", () => {
  const td = new torch.TensorDict({ a: torch.ones(2) }, [2]);
  expect(td.to("float64").get("a").dtype).toBe(torch.float64);
  // @ts-expect-error
  expect(() => td.to("flaot64")).toThrow("flaot64");
  expect([...new torch.nn.Linear(1, 1).to("double").parameters()][0]?.dtype).toBe(torch.float64);
  // @ts-expect-error
  expect(() => new torch.nn.Linear(1, 1).to("doubel")).toThrow("doubel");
});
