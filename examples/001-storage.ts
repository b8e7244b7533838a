// Tensors are views of a storage: transposing, slicing and writing without a copy.
import { print, tensor, transpose } from "zensor";

const a = tensor(
  [
    [4, 1, 6],
    [0, 8, 8],
    [1, 2, 1],
    [0, 5, 7],
    [0, 0, 7],
  ],
  { dtype: "int64" },
);
print(a);
print(a.storage());
print(a.shape);

// The transpose reads the same storage with other strides.
let b = transpose(a, 0, 1);
print(b);
print([b.stride(), a.stride()]);
print([a.at(1, 2), b.at(2, 1), a.storage().at(5), b.storage().at(5)]);

// So a write to one shows in the other.
a.setAt([0, 0], 10);
print(b.at(0, 0));
const c = a.at("0:2", "0:2");
print(c);
c.setAt([0, 0], 77);
print(a);
a.zero_();
print(b);

// A clone has a storage of its own.
const aClone = a.clone();
aClone.setAt([0, 0], 55);
print(aClone);
print(a);

// contiguous() copies when the elements are not in order.
print(a.isContiguous());
print(b.isContiguous());
b = b.contiguous();
b.setAt([0, 0], 18);
print(a.at(0, 0));
print(b.isContiguous());
print(a.isContiguous());
