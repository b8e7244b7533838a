// Streams, events, devices and pinned memory, emulated: the stand-in runs each stream's work as late as it may, so that
// a wait that is missing shows every time.
import { describe, expect, test } from "bun:test";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const driver = emulated ? buildStandin() : "";

/** What a function body returns in a program of its own, with a driver of two devices. */
function value(body: string, settings = "later=1,devices=2"): unknown {
  const code = `const f = () => { ${body} }; console.log(JSON.stringify(f()))`;
  return evaluate(code, { ZENSOR_LIBCUDA: driver, ZENSOR_STANDIN: settings });
}

describe.if(emulated)("streams", () => {
  test("a block waits for streams of other devices, which a program's threads share", async () => {
    const body = `
      const active = () => z.cuda.memoryStats(0)["active.all.current"];
      const seen = [];
      for (const s of [z.cuda.defaultStream(1), new z.cuda.Stream({ device: 1 })]) {
        const x = z.ones(1000, { device: "cuda:0" });
        z.cuda.stream(s, () => z.ones(10, { device: "cuda:1" }));
        x.recordStream(s);
        const before = active();
        x.dispose();
        seen.push(before - active());
        s.synchronize();
        z.ones(1, { device: "cuda:0" }).dispose();
        seen.push(before - active());
      }
      return seen;`;
    expect(value(body)).toEqual([0, 1, 0, 1]);
    const handles = "Array.from({ length: 40 }, () => new z.cuda.Stream().cudaStream)";
    expect(value(`return new Set(${handles}).size`)).toBe(32);
  });

  test("the stand-in does nothing before somebody waits", () => {
    const body = `
      const p = z.zeros(4, { pinMemory: true });
      const x = z.ones(4, { device: "cuda" });
      p.copy_(x, true);
      const before = p.tolist();
      z.cuda.synchronize();
      return [before, p.tolist()];`;
    expect(value(body)).toEqual([
      [0, 0, 0, 0],
      [1, 1, 1, 1],
    ]);
  });

  test("are chosen for a while, with their device", () => {
    const body = `
      const s = new z.cuda.Stream({ device: 1, priority: -1 });
      const seen = [s.priority, String(s.device), z.cuda.currentDevice()];
      {
        using _ = z.cuda.stream(s);
        seen.push(z.cuda.currentStream().equals(s), z.cuda.currentDevice(), z.zeros(1,
          { device: "cuda" }).device.index);
      }
      seen.push(z.cuda.currentStream(1).equals(z.cuda.defaultStream(1)), z.cuda.currentDevice());
      seen.push(z.cuda.stream(s, () => z.cuda.currentDevice()), z.cuda.stream(null, () => z.cuda.currentDevice()));
      z.cuda.setStream(s);
      seen.push(z.cuda.currentStream().equals(s), z.cuda.currentDevice());
      return seen;`;
    expect(value(body)).toEqual([-1, "cuda:1", 0, true, 1, 1, true, 0, 1, 0, true, 1]);
  });

  test("wait for each other where they are told to", () => {
    const run = (wait: string) => `
      const s = new z.cuda.Stream();
      const x = z.ones(4, { device: "cuda" });
      s.waitStream(z.cuda.currentStream());
      const y = z.cuda.stream(s, () => x.add(1));
      ${wait}
      return y.mul(10).tolist();`;
    const right = [20, 20, 20, 20];
    expect(value(run("z.cuda.currentStream().waitStream(s);"))).toEqual(right);
    expect(value(run("s.synchronize();"))).toEqual(right);
    expect(value(run("s.recordEvent().wait();"))).toEqual(right);
    expect(value(run("z.cuda.currentStream().waitEvent(s.recordEvent());"))).toEqual(right);
    expect(value(run("s.recordEvent().synchronize();"))).toEqual(right);
    // And not where nobody told them: the memory holds what fresh memory holds here.
    expect(value(run(""))).not.toEqual(right);
  });

  test("tell how far they are", () => {
    const body = `
      const s = new z.cuda.Stream();
      const e = new z.cuda.Event();
      const seen = [s.query(), e.query()];
      z.cuda.stream(s, () => z.ones(4, { device: "cuda" }));
      s.recordEvent(e);
      seen.push(s.query(), e.query());
      e.synchronize();
      seen.push(s.query(), e.query());
      return seen;`;
    expect(value(body)).toEqual([true, true, false, false, true, true]);
  });

  test("events take times, and say what they lack", () => {
    const body = `
      const timed = () => new z.cuda.Event({ enableTiming: true });
      const [a, b, c] = [timed(), timed(), new z.cuda.Event()];
      const text = (f) => { try { f(); return null; } catch (e) { return e.message; } };
      const said = [text(() => a.elapsedTime(c)), text(() => a.elapsedTime(b))];
      a.record();
      z.ones(4, { device: "cuda" });
      b.record();
      said.push(text(() => a.elapsedTime(b)));
      b.synchronize();
      said.push(a.elapsedTime(b) >= 0);
      said.push(text(() => a.record(z.cuda.defaultStream(1))));
      said.push(String(new z.cuda.Event()), /^<torch.cuda.Event 0x[0-9a-f]+>$/.test(String(a)));
      return said;`;
    expect(value(body)).toEqual([
      "Both events must be created with argument 'enable_timing=True'.",
      "Both events must be recorded before calculating elapsed time.",
      "Both events must be completed before calculating elapsed time.",
      true,
      "Event device 0 does not match recording stream's device 1.",
      "<torch.cuda.Event uninitialized>",
      true,
    ]);
  });

  test("backward runs where forward ran, and the caller's stream waits", () => {
    const body = `
      const s = new z.cuda.Stream();
      const w = z.ones(4, { device: "cuda" }).requiresGrad_();
      s.waitStream(z.cuda.currentStream());
      const y = z.cuda.stream(s, () => w.mul(3).mul(2));
      z.cuda.currentStream().waitStream(s);
      const z2 = y.mul(5);
      z2.backward(z.ones(4, { device: "cuda" }));
      return [w.grad.tolist(), z.cuda.currentStream().cudaStream];`;
    expect(value(body)).toEqual([[30, 30, 30, 30], 0]);
  });

  test("gradients of two streams are added up in order", () => {
    const body = `
      const [s, t] = [new z.cuda.Stream(), new z.cuda.Stream()];
      const w = z.ones(3, { device: "cuda" }).requiresGrad_();
      for (const one of [s, t]) one.waitStream(z.cuda.currentStream());
      const [a, b] = [z.cuda.stream(s, () => w.mul(2)), z.cuda.stream(t, () => w.mul(7))];
      for (const one of [s, t]) z.cuda.currentStream().waitStream(one);
      a.add(b).backward(z.ones(3, { device: "cuda" }));
      return w.grad.tolist();`;
    expect(value(body)).toEqual([9, 9, 9]);
  });
});

describe.if(emulated)("memory that another stream uses", () => {
  const used = (record: string) => `
    const s = new z.cuda.Stream();
    const out = z.zeros(4, { device: "cuda" });
    const x = z.ones(4, { device: "cuda" });
    s.waitStream(z.cuda.currentStream());
    z.cuda.stream(s, () => out.copy_(x.mul(3)));
    ${record}
    x.dispose();
    const again = z.full([4], 100, { device: "cuda" });
    z.cuda.currentStream().synchronize();
    s.synchronize();
    return out.tolist();`;

  test("serves again at once where nobody says so", () => {
    expect(value(used(""))).toEqual([300, 300, 300, 300]);
  });

  test("serves again after that use, where recordStream says so", () => {
    expect(value(used("x.recordStream(s);"))).toEqual([3, 3, 3, 3]);
  });

  test("is active until then, and free after it", () => {
    const body = `
      const s = new z.cuda.Stream();
      const x = z.ones(1000, { device: "cuda" });
      z.cuda.stream(s, () => x.add(1).dispose());
      x.recordStream(s);
      const numbers = () => ["allocated_bytes", "active_bytes"].map((n) => z.cuda.memoryStats()[n + ".all.current"]);
      const held = numbers();
      x.dispose();
      const waiting = numbers();
      s.synchronize();
      const y = z.ones(1000, { device: "cuda" });
      return [held, waiting, numbers()];`;
    expect(value(body)).toEqual([
      [4096, 4096],
      [0, 4096],
      [4096, 4096],
    ]);
  });
});

describe.if(emulated)("pinned memory", () => {
  test("is what factories, tensors and copies make", () => {
    const body = `
      const made = [z.zeros(3, { pinMemory: true }), z.empty(3, { pinMemory: true }), z.rand(3, { pinMemory: true }),
        z.tensor([1, 2], { pinMemory: true }), z.ones(3).pinMemory(), z.onesLike(z.ones(3), { pinMemory: true })];
      const p = made[0];
      const away = z.ones(3, { device: "cuda" }).to("cpu", { nonBlocking: true });
      return [made.map((t) => t.isPinned()), z.ones(3).isPinned(), p.pinMemory() === p, p.at("1:").isPinned(),
        p.add(1).isPinned(), away.isPinned(), p.tolist(), made[3].tolist(), p.typedArray().length];`;
    const all = Array(6).fill(true);
    expect(value(body)).toEqual([all, false, true, true, false, true, [0, 0, 0], [1, 2], 3]);
  });

  test("is the CPU's alone", () => {
    const body = `
      const text = (f) => { try { f(); return null; } catch (e) { return e.message; } };
      return [text(() => z.zeros(2, { device: "cuda", pinMemory: true })),
        text(() => z.zeros(2, { device: "cuda" }).pinMemory()),
        text(() => z.zeros(2, { device: "meta" }).pinMemory()), z.empty(2, { device: "meta",
          pinMemory: true }).shape];`;
    expect(value(body)).toEqual([
      "Only dense CPU tensors can be pinned",
      "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
      "cannot pin 'MetaFloatType' only dense CPU tensors can be pinned",
      [2],
    ]);
  });

  test("is copied from later, and not given to others before that", () => {
    const body = `
      const p = z.full([4], 5, { pinMemory: true });
      const x = p.to("cuda", { nonBlocking: true });
      const at = p.dataPtr();
      p.dispose();
      const q = z.full([4], 9, { pinMemory: true });
      const other = q.dataPtr() !== at;
      const seen = x.tolist();
      q.dispose();
      const again = [z.zeros(4, { pinMemory: true }), z.zeros(4, { pinMemory: true })].map((t) => t.dataPtr());
      return [other, seen, again.includes(at)];`;
    expect(value(body)).toEqual([true, [5, 5, 5, 5], true]);
  });

  test("what is written before a copy has been made changes what arrives; without nonBlocking it does not", () => {
    const body = `
      const of = (nonBlocking) => {
        const p = z.full([2], 5, { pinMemory: true });
        const x = p.to("cuda", { nonBlocking });
        p.fill_(6);
        return x.tolist();
      };
      const pageable = z.full([2], 5);
      const x = pageable.to("cuda", { nonBlocking: true });
      pageable.fill_(6);
      return [of(true), of(false), x.tolist()];`;
    expect(value(body)).toEqual([
      [6, 6],
      [5, 5],
      [5, 5],
    ]);
  });

  test("of other dtypes and layouts, and into a part of a tensor", () => {
    const body = `
      const p = z.arange(6).view(2, 3).pinMemory();
      const x = z.zeros(3, 4, { device: "cuda" });
      x.at("...", "1:3").copy_(p.t(), true);
      const back = z.zeros(3, 2, { dtype: "int16", pinMemory: true });
      back.copy_(x.at("...", "1:3"), true);
      z.cuda.synchronize();
      return back.tolist();`;
    expect(value(body)).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
  });
});

describe.if(emulated)("several devices", () => {
  test("the current one is what cuda stands for", () => {
    const body = `
      const where = () => z.zeros(1, { device: "cuda" }).device.index;
      const seen = [where(), z.cuda.device(1, where), where()];
      { using _ = z.cuda.device("cuda:1"); seen.push(where(), z.cuda.currentDevice(), z.ones(1).cuda().device.index); }
      z.cuda.setDevice(1);
      seen.push(where(), z.ones(1).cuda(0).device.index, z.ones(1).to(0).device.index, z.zeros(1,
        { device: 1 }).device.index);
      z.cuda.setDevice(-1);
      return [...seen, where(), String(z.device("cuda")), z.device("cuda").index];`;
    expect(value(body)).toEqual([0, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, "cuda", null]);
  });

  test("copies between them are in order with the work of both", () => {
    const body = `
      const a = z.arange(5).to("cuda:0").add(1);
      const b = a.to("cuda:1").mul(2);
      const c = z.zeros(5, { device: "cuda:0", dtype: "int64" }).copy_(b);
      b.fill_(0);
      return [c.tolist(), b.tolist(), String(b.device), c.to("cuda:1", { dtype: "float64" }).tolist()];`;
    const doubled = [2, 4, 6, 8, 10];
    expect(value(body)).toEqual([doubled, [0, 0, 0, 0, 0], "cuda:1", doubled]);
  });

  test("operands on two of them are refused; numbers in tensors without dimensions are not", () => {
    const body = `
      const [a, b] = [z.ones(2, { device: "cuda:0" }), z.ones(2, { device: "cuda:1" })];
      const text = (f) => { try { f(); return null; } catch (e) { return e.message; } };
      return [text(() => a.add(b)), a.add(z.tensor(2)).tolist(), a.mul(z.tensor(2.5, { dtype: "float64" })).tolist(),
        text(() => a.add(z.ones([], { device: "cuda:1" }))), text(() => z.ones(1).cuda("cpu")),
        text(() => z.zeros(1, { device: "cuda:2" })), text(() => z.ones(1, { device: -1 })),
        caught(() => z.cuda.memoryAllocated("cpu"))];`;
    const both = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!";
    const said = value(body) as string[];
    expect(said.slice(0, 5)).toEqual([both, [3, 3], [2.5, 2.5], both, "Invalid device, must be cuda device"] as never);
    expect(said.slice(6)).toMatchObject([
      "Device index must not be negative",
      { name: "ValueError", message: "Expected a cuda device, but got: cpu" },
    ]);
    expect(said[5]).toContain("invalid device ordinal: there is no cuda:2, this system has 2 devices");
  });

  test("gradients go back to where their tensors are", () => {
    const body = `
      const w = z.ones(3).requiresGrad_();
      const v = z.ones(3, { device: "cuda:1" }).requiresGrad_();
      const y = w.to("cuda:0").mul(2).to("cuda:1").mul(v.mul(5));
      y.backward(z.ones(3, { device: "cuda:1" }));
      const u = z.ones(3, { device: "cuda:1" }).requiresGrad_();
      z.zeros(3).copy_(u.mul(4)).backward(z.ones(3));
      return [w.grad.tolist(), String(w.grad.device), v.grad.tolist(), String(v.grad.device), u.grad.tolist(),
        String(u.grad.device)];`;
    expect(value(body)).toEqual([[10, 10, 10], "cpu", [10, 10, 10], "cuda:1", [4, 4, 4], "cuda:1"]);
  });

  test("new tensors are made where the default says", () => {
    const body = `
      const seen = [];
      {
        using _ = z.withDevice("cuda");
        seen.push(String(z.zeros(2).device), String(z.tensor([1, 2]).device),
          String(new z.nn.Parameter(z.ones(1)).device));
        seen.push(z.cuda.device(1, () => String(z.zeros(1).device)), String(z.tensor([1], { device: "cpu" }).device));
      }
      seen.push(String(z.zeros(2).device), String(z.withDevice("cuda:1", () => z.tensor([1]).device)));
      z.setDefaultDevice("cuda:1");
      seen.push(String(z.ones(1).device), String(z.getDefaultDevice()));
      z.setDefaultDevice(null);
      return [...seen, String(z.ones(1).device)];`;
    const inBlock = ["cuda:0", "cuda:0", "cuda:0", "cuda:1", "cpu"];
    expect(value(body)).toEqual([...inBlock, "cpu", "cuda:1", "cuda:1", "cuda:1", "cpu"]);
  });
});

test.if(emulated)("what is no stream, event, device or priority is an error in plain words", () => {
  const body = `
    const { cuda } = z;
    const text = (f) => { try { f(); return null; } catch (e) { return e.name + ": " + e.message; } };
    const [s, e] = [new cuda.Stream(), new cuda.Event()];
    z.ones(3, { device: "cuda" });
    const calls = [() => s.waitEvent(null), () => s.recordEvent(3), () => e.elapsedTime(null), () => e.record(null),
      () => cuda.setStream(3), () => new cuda.Stream({ priority: 1 }), () => z.device(z.ones(1), 0)];
    const numbers = [0.5, NaN, 2, -1].map((n) => () => cuda.memoryAllocated(n));
    return [...calls, ...numbers, () => cuda.memorySummary(9), () => cuda.resetPeakMemoryStats(9)].map(text);`;
  const index = "ValueError: Expected a torch.device with a specified index or an integer, but got:";
  expect(value(body)).toEqual([
    "TypeError: waitEvent(): argument 'event' must be cuda.Event, not NoneType",
    "TypeError: recordEvent(): argument 'event' must be cuda.Event, not int",
    "TypeError: elapsedTime(): argument 'endEvent' must be cuda.Event, not NoneType",
    "TypeError: record(): argument 'stream' must be cuda.Stream, not NoneType",
    "TypeError: setStream(): argument 'stream' must be cuda.Stream, not int",
    "RuntimeError: Expected cuda stream priority to be less than or equal to 0, got 1",
    "TypeError: device(): argument 'type' must be str, not torch.FloatTensor",
    `${index}0.5`,
    `${index}NaN`,
    "RuntimeError: Invalid device argument 2: did you call init?",
    "RuntimeError: Invalid device argument -1: did you call init?",
    "RuntimeError: Invalid device argument 9: did you call init?",
    "RuntimeError: Invalid device argument 9: did you call init?",
  ]);
});
