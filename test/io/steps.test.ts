// Work that is written once: both ways of doing it give the same, and errors go through its own clean-up.
import { expect, test } from "bun:test";
import { runSteps, runStepsLater, type Steps, wait } from "../../src/io/base/steps.ts";

/** Notes what it does; the step named in `failing` fails. */
function* work(log: string[], failing = ""): Steps<string> {
  const one = (name: string, way: string) => {
    log.push(`${name} ${way}`);
    if (name === failing) throw new Error(`${name} failed`);
    return name.toUpperCase();
  };
  const step = (name: string) =>
    wait(
      () => one(name, "now"),
      async () => one(name, "later"),
    );
  try {
    const a = yield* step("a");
    yield;
    return a + (yield* step("b"));
  } catch (error) {
    yield* step("remedy");
    throw error;
  } finally {
    log.push("end");
  }
}

test("both ways run every step, in order, with its result", async () => {
  const [now, later]: [string[], string[]] = [[], []];
  expect(runSteps(work(now))).toBe("AB");
  expect(now).toEqual(["a now", "b now", "end"]);
  expect(await runStepsLater(work(later))).toBe("AB");
  expect(later).toEqual(["a later", "b later", "end"]);
});

test("an error reaches the steps, which clean up in the same way", async () => {
  const [now, later]: [string[], string[]] = [[], []];
  expect(() => runSteps(work(now, "b"))).toThrow("b failed");
  expect(now).toEqual(["a now", "b now", "remedy now", "end"]);
  expect(runStepsLater(work(later, "b"))).rejects.toThrow("b failed");
  await Bun.sleep(0);
  expect(later).toEqual(["a later", "b later", "remedy later", "end"]);
});

test("a remedy that fails as well is the error", async () => {
  const steps = function* (): Steps<void> {
    try {
      yield* wait(
        () => {
          throw new Error("first");
        },
        () => Promise.reject(new Error("first")),
      );
    } finally {
      yield* wait(
        () => {
          throw new Error("second");
        },
        () => Promise.reject(new Error("second")),
      );
    }
  };
  expect(() => runSteps(steps())).toThrow("second");
  await expect(runStepsLater(steps())).rejects.toThrow("second");
});

test("later, other work runs in the pauses, and a signal ends the steps with their clean-up", async () => {
  const stop = new AbortController();
  let [steps, ended, ticks] = [0, false, 0];
  const timer = setInterval(() => {
    ticks++;
    if (ticks === 3) stop.abort(new Error("stopped"));
  }, 1);
  const long = function* (): Steps<void> {
    try {
      for (;;) {
        for (const end = performance.now() + 1; performance.now() < end; );
        steps++;
        yield;
      }
    } finally {
      ended = true;
    }
  };
  await expect(runStepsLater(long(), stop.signal)).rejects.toThrow("stopped");
  clearInterval(timer);
  expect([ended, ticks >= 3, steps > 3]).toEqual([true, true, true]);
});
