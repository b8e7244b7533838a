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
  const names: torch.DTypeName[] = ["long", "torch.half", "bfloat16"];
  const devices: torch.DeviceName[] = ["cuda", "cuda:1", "meta"];
  expect(names.length + devices.length).toBe(6);
});

test("a device keeps the number that was said; tensors lie on the one processor", () => {
  const { device, ones } = torch;
  expect(device("cpu")).toBe(ones(1).device);
  const indices = (["cpu", "cpu:0", "cpu:1", "meta", "meta:2"] as const).map((name) => device(name).index);
  expect(indices).toEqual([null, 0, 1, null, 2]);
  expect(device("cpu", 0)).toBe(device("cpu:0"));
  expect([String(device("cpu:1")), device("meta", 2).repr()]).toEqual(["cpu:1", "device(type='meta', index=2)"]);
  expect(device("cpu:0").equals(device("cpu"))).toBe(false);
  for (const place of ["cpu:0", device("cpu:1")] as const) {
    expect(ones(1, { device: place }).device).toBe(ones(1).device);
    const x = ones(1);
    expect(x.to(place)).toBe(x);
    expect(new torch.nn.Linear(1, 1).to(place).weight.device).toBe(x.device);
    expect(new torch.TensorDict({ a: x }, { device: place }).device).toBe(x.device);
    expect(new torch.TensorDict({ a: x }).to(place).get("a")).toBe(x);
  }
  expect(ones(1, { device: "meta:1" }).device).toBe(device("meta"));
});

test("what is no device is refused in torch's words", () => {
  const device = torch.device as (name: string, index?: number) => torch.Device;
  for (const name of ["cpu:", "cpu:01", "cpu:-1", "cpu:a", "meta:-1", "cpu:1:2", " cpu", "cpu/1"]) {
    expect(() => device(name)).toThrow(`Invalid device string: '${name}'`);
  }
  expect(() => device("")).toThrow("Device string must not be empty");
  expect(() => device("xla")).toThrow("device type at start of device string: xla");
  expect(() => device("cpu:0", 0)).toThrow(
    "type (string) must not include an index because index was passed explicitly",
  );
  expect(() => device("cpu", -1)).toThrow("Device index must not be negative");
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
