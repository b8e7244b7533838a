// The tensorclasses that the good files were saved from. Only the reading process knows all of them.
import "../tensordict/classes.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import { registerTensorClass, tensorclass } from "../../src/tensordict/index.ts";

class Pair extends tensorclass({ x: Tensor }, { pythonName: "zensor_fixtures.Pair" }) {}
class Reading extends tensorclass({ value: Tensor, label: String }, { pythonName: "readings.Reading" }) {}

registerTensorClass(Pair);
registerTensorClass(Reading);
