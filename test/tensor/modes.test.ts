// Modes that hold for a while: tasks that overlap, generators, errors. Whatever happens, the mode is right afterwards.
import { afterEach, describe, expect, test } from "bun:test";
import {
  autograd,
  enableGrad,
  isGradEnabled,
  type ModeGuard,
  nn,
  noGrad,
  ones,
  scope,
  setGradEnabled,
  TensorDict,
  zeros,
} from "../../src/index.ts";
import {
  getTensorDictPrintoptions,
  lazyLegacy,
  setLazyLegacy,
  setTensorDictPrintoptions,
} from "../../src/tensordict/core/settings.ts";

afterEach(() => {
  expect(isGradEnabled()).toBe(true);
  expect(lazyLegacy()).toBe(false);
});

const overlap = /open across an await .* while another task/;
const notAsync = /takes a function that is not async/;

/** Runs both and says how they ended. */
async function outcomes(tasks: Promise<unknown>[]): Promise<string[]> {
  const ended = await Promise.allSettled(tasks);
  return ended.map((e) => (e.status === "fulfilled" ? "done" : String((e.reason as Error).message)));
}

const KINDS: Record<string, () => ModeGuard> = {
  noGrad: () => noGrad(),
  "enableGrad inside": () => enableGrad(),
  setGradEnabled: () => setGradEnabled(false),
  setLazyLegacy: () => setLazyLegacy(true),
};
const ORDERS: Record<string, [number, number]> = { "the first ends first": [5, 15], "the last ends first": [15, 5] };

describe("using, in tasks that overlap", () => {
  for (const [kind, open] of Object.entries(KINDS)) {
    for (const [order, waits] of Object.entries(ORDERS)) {
      test(`${kind}: ${order}: refused, and the mode is right afterwards`, async () => {
        const task = async (ms: number): Promise<void> => {
          using _ = open();
          await Bun.sleep(ms);
        };
        const ends = await outcomes(waits.map(task));
        expect(ends.filter((e) => overlap.test(e)).length).toBe(1);
        expect(ends.filter((e) => e === "done").length).toBe(1);
      });
    }
  }

  test("one task after the other, and one alone, may wait", async () => {
    const task = async (): Promise<boolean> => {
      using _ = noGrad();
      await Bun.sleep(1);
      return isGradEnabled();
    };
    expect([await task(), await task()]).toEqual([false, false]);
    expect(isGradEnabled()).toBe(true);
  });

  test("many tasks in random order", async () => {
    const task = async (i: number): Promise<void> => {
      await Bun.sleep((i * 7) % 5);
      using _ = i % 3 === 0 ? enableGrad() : noGrad();
      await Bun.sleep((i * 11) % 7);
      if (i % 4 === 0) throw new Error("of the task");
    };
    await outcomes(Array.from({ length: 40 }, (_, i) => task(i)));
    expect(isGradEnabled()).toBe(true);
    expect(ones(1, { requiresGrad: true }).mul(2).requiresGrad).toBe(true);
  });

  test("printing options", async () => {
    const task = async (ms: number, compact: boolean): Promise<void> => {
      using _ = setTensorDictPrintoptions({ compact });
      await Bun.sleep(ms);
    };
    await outcomes([task(5, true), task(15, false), task(10, true)]);
    expect(getTensorDictPrintoptions().compact).toBe(false);
  });

  for (const [order, waits] of Object.entries(ORDERS)) {
    test(`scopes: ${order}: refused, nothing of the other task is freed`, async () => {
      const task = async (ms: number): Promise<number> => {
        using _ = scope();
        const x = ones(1000).add(1);
        await Bun.sleep(ms);
        const y = x.add(1);
        await Bun.sleep(ms);
        return Number(x.add(y).sum().item());
      };
      const ends = await Promise.allSettled(waits.map(task));
      expect(ends.filter((e) => e.status === "rejected").map((e) => e.reason.message)).toEqual([
        expect.stringMatching(overlap),
      ]);
      const x = ones(1000);
      scope(() => x.add(1)).sum();
      expect(x.add(1).sum().item()).toBe(2000);
    });

    test(`toModule: ${order}: refused, and the module has its own tensors afterwards`, async () => {
      const module = new nn.Linear(2, 2);
      const own = module.weight;
      const task = async (ms: number): Promise<void> => {
        const params = TensorDict.fromModule(module).clone();
        using _ = params.toModule(module);
        await Bun.sleep(ms);
      };
      const ends = await outcomes(waits.map(task));
      expect(module.weight).toBe(own);
      expect(ends.some((e) => e === "done")).toBe(true);
    });

    for (const first of ["lock_", "unlock_"] as const) {
      for (const second of ["lock_", "unlock_"] as const) {
        test(`${first} and ${second}: ${order}: locked as before afterwards`, async () => {
          for (const locked of [false, true]) {
            const td = new TensorDict({ a: zeros(2) }, { batchSize: [2] });
            if (locked) td.lock_();
            const task = async (how: "lock_" | "unlock_", ms: number): Promise<void> => {
              using _ = td[how]();
              await Bun.sleep(ms);
            };
            await Promise.all([task(first, waits[0]), task(second, waits[1])]);
            expect(td.isLocked).toBe(locked);
          }
        });
      }
    }
  }
});

describe("callbacks", () => {
  const forms: Record<string, (body: () => unknown) => unknown> = {
    noGrad: (body) => noGrad(body),
    enableGrad: (body) => enableGrad(body),
    scope: (body) => scope(body),
  };
  for (const [name, call] of Object.entries(forms)) {
    test(`${name} refuses async functions, before they begin`, () => {
      let began = false;
      const body = async (): Promise<void> => {
        began = true;
      };
      expect(() => call(body)).toThrow(notAsync);
      expect(() => call(async function* () {} as never)).toThrow(notAsync);
      expect(began).toBe(false);
    });

    test(`${name} refuses promises and what waits like one`, () => {
      expect(() => call(() => Bun.sleep(1))).toThrow(notAsync);
      expect(() => call(() => Promise.reject(new Error("unseen")))).toThrow(notAsync);
      // biome-ignore lint/suspicious/noThenProperty: that is what is tested
      expect(() => call(() => ({ then: () => {} }))).toThrow(notAsync);
    });

    test(`${name} names an argument that is no function`, () => {
      expect(() => call(5 as never)).toThrow("argument 'body' must be a function, not number");
    });
  }

  test("the mode ends with an error and with a return from the middle", () => {
    expect(() =>
      noGrad(() => {
        throw new Error("mine");
      }),
    ).toThrow("mine");
    const early = (): number => {
      using _ = noGrad();
      return 3;
    };
    expect(early()).toBe(3);
    const broken = (): void => {
      using _ = noGrad();
      throw new Error("mine");
    };
    expect(broken).toThrow("mine");
  });

  test("the steps of a generator run in the mode, what is between them does not", () => {
    const seen: boolean[] = [];
    const steps = noGrad(function* (): Generator<boolean, string, number> {
      try {
        const given = yield isGradEnabled();
        seen.push(isGradEnabled(), given === 7);
        yield isGradEnabled();
        return "end";
      } finally {
        seen.push(isGradEnabled());
      }
    });
    expect(steps.next().value).toBe(false);
    expect(isGradEnabled()).toBe(true);
    expect(steps.next(7).value).toBe(false);
    expect(isGradEnabled()).toBe(true);
    expect(steps.next()).toEqual({ done: true, value: "end" });
    expect(seen).toEqual([false, true, false]);
  });

  test("a generator that is left early, or thrown into, cleans up in the mode", () => {
    const seen: unknown[] = [];
    const make = (): Generator<number> =>
      noGrad(function* () {
        try {
          for (let i = 0; ; i++) yield i;
        } catch (error) {
          seen.push((error as Error).message);
        } finally {
          seen.push(isGradEnabled());
        }
      });
    for (const i of make()) if (i === 2) break;
    const second = make();
    second.next();
    second.throw(new Error("into"));
    expect(seen).toEqual([false, "into", false]);
  });

  test("a guard in one generator may end after one in another", () => {
    const held = function* (open: () => ModeGuard): Generator<boolean> {
      using _ = open();
      yield isGradEnabled();
    };
    const [a, b] = [held(() => noGrad()), held(() => enableGrad())];
    expect(a.next().value).toBe(false);
    expect(b.next().value).toBe(true);
    a.next();
    expect(isGradEnabled()).toBe(true);
    b.next();
    expect(isGradEnabled()).toBe(true);
  });
});

describe("guards by hand", () => {
  test("ending one that is not the innermost leaves the others", () => {
    const [a, b, c] = [noGrad(), enableGrad(), noGrad()];
    b[Symbol.dispose]();
    expect(isGradEnabled()).toBe(false);
    c[Symbol.dispose]();
    expect(isGradEnabled()).toBe(false);
    c[Symbol.dispose]();
    a[Symbol.dispose]();
    expect(isGradEnabled()).toBe(true);
  });

  test("what statements set in a block ends with it", () => {
    {
      using _ = noGrad();
      setGradEnabled(true);
      expect(isGradEnabled()).toBe(true);
    }
    expect(isGradEnabled()).toBe(true);
    {
      using _ = enableGrad();
      setGradEnabled(false);
    }
    expect(isGradEnabled()).toBe(true);
  });

  test("a setting that is never taken back stays, however often it is made", () => {
    for (let i = 0; i < 100_000; i++) setGradEnabled(i % 2 === 0);
    expect(isGradEnabled()).toBe(false);
    expect(noGrad(() => enableGrad(() => isGradEnabled()))).toBe(true);
    expect(isGradEnabled()).toBe(false);
    setGradEnabled(true);
    const change = setLazyLegacy(true);
    expect(lazyLegacy()).toBe(true);
    change.restore();
    change.restore();
  });

  test("a hook that leaves a guard open does not change the mode after backward", () => {
    const x = ones(1, { requiresGrad: true });
    const y = x.mul(2);
    let guard: ModeGuard | undefined;
    y.registerHook(() => {
      guard = enableGrad();
    });
    autograd.backward(y);
    guard?.[Symbol.dispose]();
    expect(isGradEnabled()).toBe(true);
    noGrad(() => {
      const z = enableGrad(() => x.mul(2));
      z.backward();
      expect(isGradEnabled()).toBe(false);
    });
  });
});
