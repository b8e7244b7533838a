// The generator of random numbers comes into being when something is first drawn, which disturbs no draw: the first one
// of a process is what the seed that it began with gives again.
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { buildBundle, root } from "../../scripts/toolchain.mjs";

beforeAll(() => {
  buildBundle();
}, 120_000);

const DRAWS: Readonly<Record<string, string>> = {
  rand: "z.rand([5])",
  randn: "z.randn([4, 5])",
  randint: "z.randint(0, 99, [7])",
  randperm: "z.randperm(9)",
  randLike: "z.randLike(z.ones([3, 2]))",
  randnLike: "z.randnLike(z.ones([3, 2]))",
  normal: "z.normal(0, 2, [5])",
  "normal of tensors": "z.normal(z.ones([4]), z.ones([4]))",
  bernoulli: "z.bernoulli(z.full([20], 0.5))",
  "complex numbers": "z.randn([5], { dtype: z.complex64 })",
  uniform_: "z.empty([2, 6]).t().uniform_(1, 2)",
  normal_: "z.empty([6]).normal_()",
  exponential_: "z.empty([6]).exponential_()",
  cauchy_: "z.empty([6]).cauchy_()",
  logNormal_: "z.empty([6]).logNormal_()",
  geometric_: "z.empty([6]).geometric_(0.3)",
  random_: "z.empty([6]).random_(0, 50)",
  bernoulli_: "z.empty([9]).bernoulli_(0.4)",
  multinomial: "z.multinomial(z.ones([8]), 5)",
  dropout: "z.F.dropout(z.ones([30]), 0.5)",
  "a layer": "new z.nn.Linear(3, 4).weight.detach()",
  "a distribution": "new z.distributions.Normal(0, 1).sample([5])",
};

test.each(Object.entries(DRAWS))("%s", (_, draw) => {
  const text = `
    const z = await import(${JSON.stringify(join(root, "build", "lib", "zensor.mjs"))});
    const draw = () => ${draw};
    const first = draw();
    z.manualSeed(z.initialSeed());
    console.log(first.numel() > 0 && z.equal(first, draw()) && !z.equal(first, draw()));`;
  const { NODE_ENV: _tests, ...env } = process.env;
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", text], { env });
  expect(`${stdout}${stderr}`).toBe("true\n");
});
