// Modules that no state sees are noticed and told, once a class; others are not.
import { beforeEach, describe, expect, test } from "bun:test";
import { nn, ones, optim, setWarningPolicy, type Tensor } from "../../src/index.ts";

let said: string[] = [];
beforeEach(() => {
  said = [];
});

// biome-ignore lint/suspicious/noExplicitAny: modules of classes of the tests
type Any = any;

/** What is warned of while something runs. */
function warned(body: () => unknown): string[] {
  const emit = process.emitWarning;
  process.emitWarning = ((text: string) => said.push(String(text))) as typeof process.emitWarning;
  setWarningPolicy("always");
  try {
    body();
  } finally {
    process.emitWarning = emit;
    setWarningPolicy("once");
  }
  return said;
}
const linear = () => new nn.Linear(2, 2);
const x = ones(1, 2);

describe("is told", () => {
  test("a module made in a private field, when its state is asked for", () => {
    class Field extends nn.Module {
      #inner = linear();
      other = new nn.Linear(2, 2);
      // biome-ignore lint/correctness/noUnusedPrivateClassMembers: it stands for one that is used
      #layer = new nn.Linear(2, 2);
      override forward(input: Tensor) {
        return this.other(this.#inner(input));
      }
    }
    const asked: ((m: Field) => unknown)[] = [
      (m) => m.stateDict(),
      (m) => m.parameters(),
      (m) => m.to("float64"),
      (m) => new optim.SGD(m.parameters()),
    ];
    const module = new Field();
    expect(warned(() => asked[0]?.(module))).toEqual([
      "Field has a Linear in its private field #layer, which stateDict(), parameters() and to() do not see: nobody " +
        "but the class can read a field whose name begins with #. Give it a plain name: TypeScript's `private` is one.",
    ]);
    // Once a class.
    for (const ask of asked) warned(() => ask(new Field()));
    expect(said.length).toBe(1);
  });
  test("one made in the constructor, below others", () => {
    class Inner extends nn.Module {
      #net: Any;
      constructor() {
        super();
        this.#net = new nn.Sequential(new nn.Linear(2, 2), new nn.ReLU());
      }
      override forward(input: Tensor) {
        return this.#net(input);
      }
    }
    class Outer extends nn.Module {
      inner = new Inner();
    }
    expect(warned(() => new Outer().parameters())[0]).toStartWith("Inner has a Sequential in its private field #net");
  });
  test("one that was given, when it is called", () => {
    class Given extends nn.Module {
      #given: nn.Linear;
      constructor(given: nn.Linear) {
        super();
        this.#given = given;
      }
      override forward(input: Tensor) {
        return this.#given(input);
      }
    }
    const module = new Given(linear());
    expect(warned(() => module.parameters())).toEqual([]);
    expect(warned(() => module(x))[0]).toStartWith("Given has a Linear in its private field #given");
  });
  test("modules in arrays and dictionaries", () => {
    class Listed extends nn.Module {
      layers = [new nn.Linear(2, 2)];
    }
    class Named extends nn.Module {
      heads = { a: new nn.Linear(2, 2) };
    }
    expect(warned(() => new Listed().parameters())[0]).toStartWith("Listed.layers is an array with a Linear in it");
    expect(warned(() => new Named().stateDict())[1]).toEndWith("make it an nn.ModuleDict.");
  });
  test("what an array got after the constructor's own look", () => {
    class Late extends nn.Module {
      first = new nn.Linear(2, 2);
      count = this.parameters().length;
      layers = [new nn.Linear(2, 2)];
    }
    expect(warned(() => new Late().parameters())[0]).toStartWith("Late.layers is an array");
  });
});

describe("is not told", () => {
  test("private fields of other kinds, with modules beside them", () => {
    class Cached extends nn.Module {
      #cache = new Map<string, Tensor>();
      #count = 0;
      layer = new nn.Linear(2, 2);
      override forward(input: Tensor) {
        this.#count++;
        const y = this.layer(input);
        this.#cache.set(`${this.#count}`, y);
        return y;
      }
    }
    expect(
      warned(() => {
        const [module, free] = [new Cached(), linear()];
        module.parameters();
        free(module(x));
      }),
    ).toEqual([]);
  });
  test("private methods", () => {
    const loss = linear();
    class Method extends nn.Module {
      layer = new nn.Linear(2, 2);
      #twice(y: Tensor) {
        return y.mul(2);
      }
      override forward(input: Tensor) {
        return loss(this.#twice(this.layer(input)));
      }
    }
    expect(
      warned(() => {
        const module = new Method();
        module(x);
        module.stateDict();
      }),
    ).toEqual([]);
  });
  test("one that another module has registered", () => {
    class Part extends nn.Module {
      #shared: nn.Linear;
      constructor(shared: nn.Linear) {
        super();
        this.#shared = shared;
      }
      override forward(input: Tensor) {
        return this.#shared(input);
      }
    }
    class Whole extends nn.Module {
      shared = new nn.Linear(2, 2);
      part = new Part(this.shared);
      override forward(input: Tensor) {
        return this.part(input);
      }
    }
    expect(
      warned(() => {
        const whole = new Whole();
        whole(x);
        whole.stateDict();
      }),
    ).toEqual([]);
  });
  test("arrays of modules that are registered too, and modules without parameters", () => {
    class Both extends nn.Module {
      first = new nn.Linear(2, 2);
      all = [this.first, new nn.ReLU()];
      #act = new nn.ReLU();
      override forward(input: Tensor) {
        return this.#act(this.first(input));
      }
    }
    expect(
      warned(() => {
        const both = new Both();
        both(x);
        both.stateDict();
      }),
    ).toEqual([]);
  });
});

test("what was made is not kept", async () => {
  class Holder extends nn.Module {
    #layer = new nn.Linear(64, 64);
    override forward(input: Tensor) {
      return this.#layer(input);
    }
  }
  const refs: WeakRef<object>[] = [];
  for (let i = 0; i < 20; i++) refs.push(new WeakRef(new Holder()));
  for (let i = 0; i < 5; i++) {
    await new Promise((done) => setTimeout(done, 1));
    Bun.gc(true);
  }
  expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(5);
});
