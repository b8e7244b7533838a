// Rows of seed 004 about torchsnapshot: states that fit in memory, and large ones that are read into mapped tensors.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { io, lazyStack, MemmapTensor, print, randn, Tensor, TensorDict, tensorclass, zeros } from "../../src/index.ts";
import type { BaseScope, Row } from "./row.ts";

const { Snapshot, StateDict } = io;

class Nested extends tensorclass({ x: Tensor, y: () => Nested }) {}

/** The variables of the document that these rows use. */
export interface SnapshotScope extends BaseScope {
  td: TensorDict;
  source: TensorDict;
  target: TensorDict;
  state: io.AppState;
  snapshot: io.Snapshot;
  nested: Nested;
  nestedDest: Nested;
}

const makeNested = () => new Nested({ x: randn(3), y: new Nested({ x: randn(3) }, { batchSize: [] }) });
const wrapped = (td: { stateDict(options: object): unknown }) => ({
  state: new StateDict({ tensordict: td.stateDict({ keepVars: true }) }),
});

/** The document's lines 157 to 185: everything goes through memory. */
const inMemory: readonly Row<SnapshotScope>[] = [
  {
    line: 157,
    python: 'state = {"state": tensordict_source}',
    code: (s) => {
      s.source = new TensorDict({ a: randn(3), b: { c: randn(3) } }, []);
      s.state = { state: s.source };
    },
    prints: null,
    reason: "The document makes its source further down (line 174).",
  },
  {
    line: 158,
    python: 'snapshot = torchsnapshot.Snapshot.take(app_state=state, path="/path/to/my/snapshot")',
    code: (s) => {
      s.snapshot = Snapshot.take({ appState: s.state, path: `${s.dir}/snapshot` });
      print(readdirSync(`${s.dir}/snapshot/0/state`).sort().join(" "));
    },
    prints: "a b.c",
    reason: "The document does not print it: each tensor is saved on its own, under its key.",
  },
  {
    line: 160,
    python: "tensordict_target.load_state_dict(state_dict)",
    code: (s) => {
      const loaded: unknown[] = [];
      const target = {
        stateDict: () => ({}),
        loadStateDict: (state: object) =>
          void loaded.push(...(state instanceof Map ? state.keys() : Object.keys(state))),
      };
      new Snapshot(`${s.dir}/snapshot`).restore({ appState: { state: target } });
      print(loaded.join(" "));
    },
    prints: "a b.c",
    reason: "The document says that restore calls this method; the row listens.",
  },
  {
    line: 165,
    python: 'snapshot = Snapshot(path="/path/to/my/snapshot")',
    code: (s) => {
      s.snapshot = new Snapshot(`${s.dir}/snapshot`);
    },
    prints: null,
  },
  {
    line: 167,
    python: 'state_target = {"state": tensordict_target}; snapshot.restore(app_state=state_target)',
    code: (s) => {
      s.target = new TensorDict({ a: zeros(3), b: { c: zeros(3) } }, []);
      s.snapshot.restore({ appState: { state: s.target } });
      assert.equal(s.source.eq(s.target).all(), true);
    },
    prints: null,
  },
  {
    line: 177,
    python: "snapshot = torchsnapshot.Snapshot.take(app_state=state, path=path)",
    code: (s) => {
      s.source = new TensorDict({ a: randn(3), b: { c: randn(3) } }, []);
      s.snapshot = Snapshot.take({ appState: { state: s.source }, path: `${s.dir}/full` });
    },
    prints: null,
    reason: "The document calls its source tensordict_source and saves tensordict.",
  },
  {
    line: 184,
    python: 'tensordict2 = TensorDict(); snapshot.restore(app_state={"state": tensordict2})',
    code: (s) => {
      s.target = new TensorDict();
      new Snapshot(`${s.dir}/full`).restore({ appState: { state: s.target } });
    },
    prints: null,
  },
  {
    line: 185,
    python: "assert (tensordict == tensordict2).all()",
    code: (s) => assert.equal(s.source.eq(s.target).all(), true),
    prints: null,
  },
];

/** Lines 195 to 241: mapped tensors are filled in place. */
const inPlace: readonly Row<SnapshotScope>[] = [
  {
    line: 195,
    python: 'app_state = {"state": torchsnapshot.StateDict(tensordict=tensordict_source.state_dict(keep_vars=True))}',
    code: (s) => {
      s.state = wrapped(s.source);
    },
    prints: null,
  },
  {
    line: 198,
    python: 'snapshot = torchsnapshot.Snapshot.take(app_state=app_state, path="/path/to/my/snapshot")',
    code: (s) => {
      s.snapshot = Snapshot.take({ appState: s.state, path: `${s.dir}/wrapped` });
      print([...s.snapshot.manifest.keys()].join(" "));
    },
    prints: "0/state 0/state/tensordict 0/state/tensordict/a 0/state/tensordict/b.c",
    reason: "The document does not print it.",
  },
  {
    line: 208,
    python: "snapshot.restore(app_state=app_state)",
    code: (s) => {
      s.target = new TensorDict({ a: zeros(3), b: { c: zeros(3) } }, []);
      const own = s.target.at("a");
      const refuse = () => assert.fail("there is no call of loadStateDict");
      Object.defineProperty(s.target, "loadStateDict", { value: refuse });
      new Snapshot(`${s.dir}/wrapped`).restore({ appState: wrapped(s.target) });
      assert.equal(s.target.at("a"), own);
      assert.equal(s.source.eq(s.target).all(), true);
    },
    prints: null,
  },
  {
    line: 216,
    python:
      "# loading onto the state-dict [of a lazy stack] will not update the original class ... [and] not raise an error",
    code: (s) => {
      const member = (n: number) => new TensorDict({ a: zeros(2).add(n) }, []);
      const path = `${s.dir}/lazy`;
      Snapshot.take({ appState: wrapped(lazyStack([member(1), member(2)])), path });
      const target = lazyStack([member(0), member(0)]);
      new Snapshot(path).restore({ appState: wrapped(target) });
      print((target.at("a") as Tensor).sum());
    },
    prints: "tensor(0.)",
    reason: "The document says so in words.",
  },
  {
    line: 219,
    python: "# a missing key in the destination tensordict will go unnoticed",
    code: (s) => {
      const target = new TensorDict({ a: zeros(3) }, []);
      new Snapshot(`${s.dir}/wrapped`).restore({ appState: wrapped(target) });
      assert.equal((target.at("a") as Tensor).equal(s.source.at("a") as Tensor), true);
      print(target.keys().join(" "));
    },
    prints: "a",
    reason: "The document says so in words.",
  },
  {
    line: 221,
    python: 'td = TensorDict({"a": torch.randn(3), "b": TensorDict({"c": torch.randn(3, 1)}, [3, 1])}, [3])',
    code: (s) => {
      s.td = new TensorDict({ a: randn(3), b: new TensorDict({ c: randn(3, 1) }, [3, 1]) }, [3]);
    },
    prints: null,
  },
  {
    line: 223,
    python: 'td.memmap_(); assert isinstance(td["b", "c"], MemmapTensor)',
    code: (s) => {
      s.td.memmap_();
      assert(s.td.at(["b", "c"]) instanceof MemmapTensor);
    },
    prints: null,
    reason: "MemmapTensor is the old name of MemoryMappedTensor; it stays as an alias.",
  },
  {
    line: 228,
    python: 'snapshot = torchsnapshot.Snapshot.take(app_state=app_state, path=f"/tmp/{uuid.uuid4()}")',
    code: (s) => {
      s.snapshot = Snapshot.take({ appState: wrapped(s.td), path: `${s.dir}/mapped` });
    },
    prints: null,
  },
  {
    line: 231,
    python: 'td_dest = TensorDict({"a": torch.zeros(3), "b": TensorDict({"c": torch.zeros(3, 1)}, [3, 1])}, [3])',
    code: (s) => {
      s.target = new TensorDict({ a: zeros(3), b: new TensorDict({ c: zeros(3, 1) }, [3, 1]) }, [3]);
      s.target.memmap_();
      assert(s.target.at(["b", "c"]) instanceof MemmapTensor);
    },
    prints: null,
  },
  {
    line: 237,
    python: "snapshot.restore(app_state=app_state)",
    code: (s) => s.snapshot.restore({ appState: wrapped(s.target), memoryBudgetBytes: 2 ** 20 }),
    prints: null,
    reason: "The budget is ours: the document's library reads one chunk at a time.",
  },
  {
    line: 239,
    python: "assert (td_dest == td).all()",
    code: (s) => assert.equal(s.target.eq(s.td).all(), true),
    prints: null,
  },
  {
    line: 240,
    python: 'assert (td_dest["b"].batch_size == td["b"].batch_size)',
    code: (s) => {
      assert.deepEqual(s.target.at("b").batchSize, s.td.at("b").batchSize);
      print(s.target.at("b").batchSize);
    },
    prints: "torch.Size([3, 1])",
  },
  {
    line: 241,
    python: 'assert isinstance(td_dest["b", "c"], MemmapTensor)',
    code: (s) => assert(s.target.at(["b", "c"]) instanceof MemmapTensor),
    prints: null,
  },
];

/** Lines 252 to 276: a tensorclass. */
const tensorclasses: readonly Row<SnapshotScope>[] = [
  {
    line: 257,
    python: "tc = MyClass(x=torch.randn(3), y=MyClass(x=torch.randn(3), batch_size=[]), batch_size=[])",
    code: (s) => {
      s.nested = makeNested();
      s.nested.memmap_();
    },
    prints: null,
    reason: "The class is called Nested, as another MyClass is above.",
  },
  {
    line: 259,
    python: "assert isinstance(tc.y.x, MemmapTensor)",
    code: (s) => {
      assert((s.nested.y as Nested).x instanceof MemmapTensor);
      assert.equal((s.nested.y as Nested).y, null);
    },
    prints: null,
  },
  {
    line: 264,
    python: 'snapshot = torchsnapshot.Snapshot.take(app_state=app_state, path=f"/tmp/{uuid.uuid4()}")',
    code: (s) => {
      s.snapshot = Snapshot.take({ appState: wrapped(s.nested), path: `${s.dir}/tensorclass` });
    },
    prints: null,
  },
  {
    line: 266,
    python: "tc_dest = MyClass(x=torch.randn(3), y=MyClass(x=torch.randn(3), batch_size=[]), batch_size=[])",
    code: (s) => {
      s.nestedDest = makeNested();
      s.nestedDest.memmap_();
      assert((s.nestedDest.y as Nested).x instanceof MemmapTensor);
      assert.equal(s.nestedDest.eq(s.nested).all(), false);
    },
    prints: null,
  },
  {
    line: 272,
    python: "snapshot.restore(app_state=app_state)",
    code: (s) => s.snapshot.restore({ appState: wrapped(s.nestedDest) }),
    prints: null,
  },
  {
    line: 274,
    python: "assert (tc_dest == tc).all()",
    code: (s) => assert.equal(s.nestedDest.eq(s.nested).all(), true),
    prints: null,
  },
  {
    line: 275,
    python: "assert (tc_dest.y.batch_size == tc.y.batch_size)",
    code: (s) => assert.deepEqual((s.nestedDest.y as Nested).batchSize, (s.nested.y as Nested).batchSize),
    prints: null,
  },
  {
    line: 276,
    python: "assert isinstance(tc_dest.y.x, MemmapTensor)",
    code: (s) => assert((s.nestedDest.y as Nested).x instanceof MemmapTensor),
    prints: null,
  },
];

/** All of them, in order. */
export function snapshotRows(): readonly Row<SnapshotScope>[] {
  return [...inMemory, ...inPlace, ...tensorclasses];
}
