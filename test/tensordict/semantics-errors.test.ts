// The texts of what TensorDicts refuse are those that Python's tensordict 0.15.3 gives, a test for each situation.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "../../src/index.ts";
import { thrown } from "../thrown.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the compiler refuses are tried, too
type Any = any;

const { lazyStack, ones, stack, TensorDict, zeros } = z;
const td = (source: object, batch: number[] = []): Any => new TensorDict(source as Any, batch);
const nested = (): Any => td({ a: zeros(2), n: td({ b: zeros(2) }, [2]) }, [2]);

const LOCKED =
  "RuntimeError: Cannot modify locked TensorDict. For in-place modification, consider using the `set_()` method and " +
  "make sure the key is present.";

describe("texts of errors", () => {
  const missing = "KeyError: key \"zz\" not found in TensorDict with keys ['a', 'n']";
  const lazy = (): Any => lazyStack([td({ a: ones(1) }), td({ a: ones(2) })]);
  const folder = mkdtempSync(join(tmpdir(), "zensor-semantics-"));
  const saved = (): Any => td({ a: zeros(2) }, [2]).memmap(join(folder, "saved"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

  const ROWS: Record<string, [call: () => unknown, text: string | RegExp]> = {
    "td[key]": [() => nested().at("zz"), missing],
    pop: [() => nested().pop("zz"), missing],
    select: [() => nested().select("zz"), missing],
    "set_ missing": [() => nested().set_("zz", ones(2)), missing],
    "a nested key": [() => nested().at(["n", "zz"]), "KeyError: key \"zz\" not found in TensorDict with keys ['b']"],
    "of a lazy stack": [
      () => lazy().at("zz"),
      "KeyError: key \"zz\" not found in LazyStackedTensorDict with keys ['a']",
    ],
    "set_ of a lazy stack": [
      () => lazy().set_("zz", ones(2, 1)),
      "KeyError: setting a value in-place on a stack of TensorDict is only permitted if all members " +
        "of the stack have " +
        "this key in their register.",
    ],
    "through a leaf": [
      () => nested().at(["a", "zz"]),
      "_KeyThroughLeafError: 'a' is a Tensor, not a tensordict, so it has no entry 'zz'.",
    ],
    "a bad key": [
      () => nested().set(3, ones(2)),
      "KeyError: Only NestedKeys are supported: a key must be a string or a non-empty, " +
        "possibly nested tuple of strings. Got key 3.",
    ],
    locked: [() => nested().lock_().set("c", ones(2)), LOCKED],
    "the batch": [
      () => nested().set("a", ones(3)),
      "RuntimeError: batch dimension mismatch, got self.batch_size=torch.Size([2]) and " +
        "value.shape=torch.Size([3]) for " +
        "key 'a'. The leading dimensions of a value must match the batch size.",
    ],
    "set_ of another shape": [
      () => td({ a: zeros(2, 3) }, [2]).set_("a", ones(2, 4)),
      "_InplaceWriteError: Failed to update 'a' in tensordict TensorDict(batch_size=[2], fields={a: " +
        "f32[3]}): the value " +
        "of shape torch.Size([2, 4]) does not fit the entry of shape torch.Size([2, 3])",
    ],
    "set_ of a tensor for a tree": [
      () => nested().set_("n", ones(2)),
      "_InplaceWriteError: Failed to update 'n' in tensordict TensorDict(batch_size=[2], " +
        "fields={a: f32[], n: {b: f32[]}})",
    ],
    "update_ missing": [
      () => nested().update_({ zz: 1 }),
      "KeyError: The key zz was not found in the dest tensordict.",
    ],
    "a safe rename": [
      () => nested().renameKey_("a", "n", { safe: true }),
      "KeyError: key n already present in TensorDict.",
    ],
    "keys that collide": [
      () => td({ "a.b": ones(1), a: { b: ones(1) } }).flattenKeys("."),
      "KeyError: Flattening keys in tensordict causes keys [('a', 'b')] to collide.",
    ],
    "an index out of bounds": [
      () => nested().at(5),
      "IndexError: index 5 is out of bounds for dimension 0 with size 2",
    ],
    "too many indices": [() => nested().at(0, 0), "IndexError: too many indices for tensor of dimension 1"],
    "stacked keys": [
      () => stack([td({ a: ones(1) }), td({ b: ones(1) })] as Any),
      "RuntimeError: The sets of keys in the tensordicts to stack are exclusive. Consider using " +
        "`LazyStackedTensorDict.maybe_dense_stack` instead.",
    ],
    "stacked shapes": [
      () => stack([td({ a: ones(1) }), td({ a: ones(2) })] as Any),
      "RuntimeError: The shapes of the tensors to stack is incompatible: torch.Size([2]) vs torch.Size([1]) for key a.",
    ],
    "stacked batches": [
      () => stack([td({}, [1]), td({}, [2])] as Any),
      "RuntimeError: stacking tensordicts requires them to have congruent batch sizes, got " +
        "td[1].batch_size=torch.Size([2]) and td[0].batch_size=torch.Size([1])",
    ],
    "keys of cat": [
      () => z.cat([td({ a: ones(1) }, [1]), td({ b: ones(1) }, [1])] as Any, 0),
      "KeyError: tensordict 1 has keys ['b'] but tensordict 0 has keys ['a']; all tensordicts must have the same keys",
    ],
    "a ragged entry": [
      () => lazy().at("a"),
      "RuntimeError: Failed to stack tensors within a tensordict under the key 'a': their shapes " +
        "are [torch.Size([1]), " +
        "torch.Size([2])]. To read them, pass asPaddedTensor: true, asNestedTensor: true or asList: true to get().",
    ],
    "another directory": [
      () => saved().memmap_(join(folder, "other")),
      /^RuntimeError: A filename was provided but the tensor already has a file associated \(\S+a\.memmap\)\. To copy/,
    ],
    "a file that exists": [
      () => {
        saved();
        td({ a: zeros(2) }, [2]).memmap(join(folder, "saved"), { existsok: false });
      },
      /^OSError: The file \S+a\.memmap already exists\.$/,
    ],
    "no directory": [
      () => TensorDict.loadMemmap("/nonexistent"),
      "FileNotFoundError: [Errno 2] No such file or directory: '/nonexistent/meta.json'",
    ],
    "no part of that name": [
      () => {
        saved();
        TensorDict.loadMemmap(join(folder, "saved"), { subpath: "nope" } as Any);
      },
      /^ValueError: No tensordict found under subpath 'nope' \(missing meta\.json in \S+nope\)\.$/,
    ],
    "memory without a file": [
      () => (z.MemoryMappedTensor.fromTensor(zeros(2)) as Any).filename,
      "RuntimeError: The MemoryMappedTensor has no file associated.",
    ],
    "no saved path": [
      () => nested().savedPath,
      "AttributeError: The tensordict has no saved path (memmap=False, path=None).",
    ],
  };
  for (const [name, [call, text]] of Object.entries(ROWS)) {
    test(name, () => {
      using _ = (z.tensordict as Any).setTensorDictPrintoptions({ compact: true });
      if (typeof text === "string") expect(thrown(call)).toBe(text);
      else expect(thrown(call)).toMatch(text);
    });
  }
});
