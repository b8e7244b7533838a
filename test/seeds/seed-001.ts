// Rows of seed 001: tensors as views of a storage.
import { print, randint, type Tensor, tensor, transpose } from "../../src/index.ts";
import { type BaseScope, defineSeed } from "./row.ts";

interface Scope extends BaseScope {
  a: Tensor;
  b: Tensor;
  c: Tensor;
  aClone: Tensor;
}

const values = [
  [4, 1, 6],
  [0, 8, 8],
  [1, 2, 1],
  [0, 5, 7],
  [0, 0, 7],
];
const shownA = `tensor([[4, 1, 6],
        [0, 8, 8],
        [1, 2, 1],
        [0, 5, 7],
        [0, 0, 7]])`;
const zeros = `tensor([[0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0]])`;

export const seed001 = defineSeed<Scope>("001", [
  {
    line: 8,
    python: "a = torch.randint(0, 9, (5,3)); a",
    code: (s) => {
      s.a = randint(0, 9, [5, 3]);
      print(s.a);
    },
    prints: /^tensor\(\[\[[0-8], [0-8], [0-8]\](,\n {8}\[[0-8], [0-8], [0-8]\]){4}\]\)$/,
    reason: "The numbers are random and not seeded: only shape, dtype and range are compared.",
  },
  {
    line: 10,
    python: "a",
    code: (s) => {
      s.a = tensor(values, { dtype: "int64" });
      print(s.a);
    },
    prints: shownA,
    reason: "From here on with the document's numbers.",
  },
  {
    line: 12,
    python: "a.storage()",
    code: (s) => print(s.a.storage()),
    prints: ` ${values.flat().join("\n ")}\n[torch.storage.TypedStorage(dtype=torch.int64, device=cpu) of size 15]`,
    reason: "Typed storages have one class today, which prints its dtype and device.",
  },
  { line: 16, python: "a.shape", code: (s) => print(s.a.shape), prints: "torch.Size([5, 3])" },
  {
    line: 22,
    python: "b = torch.transpose(a, 0, 1); b",
    code: (s) => {
      s.b = transpose(s.a, 0, 1);
      print(s.b);
    },
    prints: `tensor([[4, 0, 1, 0, 0],
        [1, 8, 2, 5, 0],
        [6, 8, 1, 7, 7]])`,
  },
  {
    line: 29,
    python: "b.stride(), a.stride()",
    code: (s) => print([s.b.stride(), s.a.stride()]),
    prints: "((1, 3), (3, 1))",
  },
  {
    line: 35,
    python: "a[1,2], b[2,1], a.storage()[5], b.storage()[5]",
    code: (s) => print([s.a.at(1, 2), s.b.at(2, 1), s.a.storage().at(5), s.b.storage().at(5)]),
    prints: "(tensor(8), tensor(8), 8, 8)",
  },
  {
    line: 41,
    python: "a[0,0] = 10; b[0,0]",
    code: (s) => {
      s.a.setAt([0, 0], 10);
      print(s.b.at(0, 0));
    },
    prints: "tensor(10)",
  },
  {
    line: 51,
    python: "c = a[0:2, 0:2]; c",
    code: (s) => {
      s.c = s.a.at("0:2", "0:2");
      print(s.c);
    },
    prints: "tensor([[10,  1],\n        [ 0,  8]])",
    reason: "The document lost the second space that aligns the columns.",
  },
  {
    line: 55,
    python: "c[0,0]=77; a",
    code: (s) => {
      s.c.setAt([0, 0], 77);
      print(s.a);
    },
    prints: `tensor([[77,  1,  6],
        [ 0,  8,  8],
        [ 1,  2,  1],
        [ 0,  5,  7],
        [ 0,  0,  7]])`,
  },
  {
    line: 61,
    python: "a.zero_(); b",
    code: (s) => {
      s.a.zero_();
      print(s.b);
    },
    prints: `tensor([[0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0]])`,
  },
  {
    line: 68,
    python: "a_clone = a.clone(); a_clone[0,0] = 55; a_clone",
    code: (s) => {
      s.aClone = s.a.clone();
      s.aClone.setAt([0, 0], 55);
      print(s.aClone);
    },
    prints: `tensor([[55,  0,  0],
        [ 0,  0,  0],
        [ 0,  0,  0],
        [ 0,  0,  0],
        [ 0,  0,  0]])`,
  },
  { line: 72, python: "a", code: (s) => print(s.a), prints: zeros },
  { line: 79, python: "a.is_contiguous()", code: (s) => print(s.a.isContiguous()), prints: "True" },
  { line: 83, python: "b.is_contiguous()", code: (s) => print(s.b.isContiguous()), prints: "False" },
  {
    line: 88,
    python: "b = b.contiguous(); b[0,0] = 18; a[0,0]",
    code: (s) => {
      s.b = s.b.contiguous();
      s.b.setAt([0, 0], 18);
      print(s.a.at(0, 0));
    },
    prints: "tensor(0)",
  },
  { line: 92, python: "b.is_contiguous()", code: (s) => print(s.b.isContiguous()), prints: "True" },
  { line: 96, python: "a.is_contiguous()", code: (s) => print(s.a.isContiguous()), prints: "True" },
]);
