// TensorDicts and files on devices, emulated.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { emulated } from "./standin-driver.ts";
import { value as evaluated } from "./tensordict-child.ts";

const HEAD = `
  const { TensorDict, ones, zeros, arange, tensor, cuda, io, nn } = z;
  const td = () => new TensorDict({ a: arange(6).view(2, 3), b: { c: ones(2, 3), d: zeros(2,
    { dtype: "bool" }) } }, [2]);
  const text = (f) => { try { f(); return null; } catch (e) { return e.message; } };
  const values = (t) => [t.get("a"), t.get(["b", "c"]), t.get(["b", "d"])].map((x) => x.tolist());
  const places = (t) => [t.get("a"), t.get(["b", "c"]), t.get(["b", "d"])].map((x) => String(x.device));
`;

const VALUES = [
  [
    [0, 1, 2],
    [3, 4, 5],
  ],
  [
    [1, 1, 1],
    [1, 1, 1],
  ],
  [false, false],
];

const value = (body: string): unknown => evaluated(HEAD, body);

const three = (device: string) => [device, device, device];

describe.if(emulated)("a TensorDict on a device", () => {
  test("is moved with all its tensors, and back", () => {
    const body = `
      const g = td().to("cuda");
      const back = g.cpu();
      return [places(g), String(g.device), g.to("cuda") === g, g.cuda() === g, values(g), values(back), places(back),
        places(td().cuda(1)), places(td().to(1)), places(g.to("cuda:1")), back.get("a").isPinned()];`;
    expect(value(body)).toEqual([
      three("cuda:0"),
      "cuda:0",
      true,
      true,
      VALUES,
      VALUES,
      three("cpu"),
      three("cuda:1"),
      three("cuda:1"),
      three("cuda:1"),
      false,
    ]);
  });

  test("keeps layouts, gradients, and what one tensor is to several keys", () => {
    const body = `
      const w = ones(2).requiresGrad_();
      const t = arange(6).view(2, 3).t();
      const g = new TensorDict({ w, t, u: t, s: ones(1, 1).expand(3, 1) }, []).to("cuda");
      g.get("w").mul(3).backward(ones(2).cuda());
      return [w.grad.tolist(), g.get("t").stride(), g.get("t").tolist(), g.get("s").shape];`;
    expect(value(body)).toEqual([
      [3, 3],
      [1, 3],
      [
        [0, 3],
        [1, 4],
        [2, 5],
      ],
      [3, 1],
    ]);
  });

  test("more than one pinned block holds", () => {
    const body = `
      const parts = Object.fromEntries(Array.from({ length: 5 }, (_, i) => ["k" + i, zeros(3 * 2 ** 20).add(i)]));
      const big = zeros(20 * 2 ** 20).add(7);
      const g = new TensorDict({ ...parts, big }, []).to("cuda");
      const back = g.to("cpu");
      return [0, 1, 2, 3, 4].map((i) => z.equal(back.get("k" + i), parts["k" + i])).concat(z.equal(back.get("big"),
        big));`;
    expect(value(body)).toEqual(Array(6).fill(true));
  }, 60_000);

  test("moves what it is given; without a device it leaves entries where they are", () => {
    const body = `
      const g = new TensorDict({ a: ones(2) }, [2], { device: "cuda:1" });
      g.set("b", zeros(2, { device: "cuda:0" }));
      g.setAt(0, new TensorDict({ a: zeros([]), b: ones([]) }, []));
      g.set("n", { m: ones(2) });
      const seen = [g.get("a").tolist(), g.get("b").tolist(), String(g.get("b").device), String(g.get(["n",
        "m"]).device)];
      g.clearDevice_();
      g.set("e", ones(2));
      return [...seen, g.device, String(g.get("e").device), String(g.get("a").device)];`;
    expect(value(body)).toEqual([[0, 1], [1, 0], "cuda:1", "cuda:1", null, "cpu", "cuda:1"]);
  });

  test("lazy stacks, tensorclasses, parameters and modules", () => {
    const body = `
      const lazy = z.lazyStack([td(), td()]).to("cuda");
      class P extends z.tensorclass({ x: z.Tensor, y: z.Tensor }) {}
      const p = new P({ x: ones(2), y: zeros(2) }, { batchSize: [2] }).to("cuda");
      const params = new z.TensorDictParams(new TensorDict({ a: ones(2) }, [])).to("cuda");
      const m = new nn.Linear(3, 2);
      m.cuda();
      return [lazy.members.map((x) => String(x.get("a").device)), String(lazy.get("a").device), String(p.x.device),
        String(p.device), String(params.get("a").device), String(m.weight.device), String(m.cpu().bias.device),
        String(TensorDict.fromModule(new nn.Linear(1, 1).to("cuda:1")).get("weight").device)];`;
    expect(value(body)).toEqual([
      ["cuda:0", "cuda:0"],
      "cuda:0",
      "cuda:0",
      "cuda:0",
      "cuda:0",
      "cuda:0",
      "cpu",
      "cuda:1",
    ]);
  });

  test("may be pinned", () => {
    const body = `
      const t = td();
      const p = t.pinMemory();
      const before = t.get("a").isPinned();
      t.pinMemory_();
      return [p.get("a").isPinned(), p.get(["b", "d"]).isPinned(), before, t.get("a").isPinned(),
        values(p.to("cuda"))];`;
    expect(value(body)).toEqual([true, true, false, true, VALUES]);
  });
});

describe.if(emulated)("files", () => {
  test("mapped directories from a device, and to one", () => {
    const body = `
      const g = td().to("cuda");
      const made = g.memmap(dir + "/one");
      const there = z.loadMemmap(dir + "/one", { device: "cuda:1" });
      td().to("cuda").save(dir + "/two");
      const own = td().to("cuda");
      own.memmap_(dir + "/three");
      return [values(made), places(made), values(there), places(there), String(there.device),
        values(TensorDict.load(dir + "/two")), places(own), String(own.device), values(z.loadMemmap(dir + "/three"))];`;
    const cpu = three("cpu");
    const gpu = three("cuda:1");
    expect(value(body)).toEqual([VALUES, cpu, VALUES, gpu, "cuda:1", VALUES, cpu, "cpu", VALUES]);
  });

  test("safetensors and arrays", () => {
    const body = `
      const x = arange(6).view(2, 3).cuda();
      z.saveSafetensors({ x, y: x.t(), e: zeros(0).cuda() }, dir + "/a.safetensors");
      const read = z.loadSafetensors(dir + "/a.safetensors", { device: "cuda" });
      z.toSafetensors(td().cuda(), dir + "/td.safetensors");
      io.saveNpy(dir + "/a.npy", x.t());
      io.saveNpz(dir + "/a.npz", { x });
      const npy = io.loadNpy(dir + "/a.npy", { device: "cuda:1" });
      const npz = io.loadNpz(dir + "/a.npz", { device: 1 });
      return [Object.values(read).map((t) => String(t.device)), read.y.tolist(),
        values(z.fromSafetensors(dir + "/td.safetensors", { device: "cuda" })),
        npy.tolist(), String(npy.device), npz.x.tolist(), String(npz.x.device)];`;
    const turned = [
      [0, 3],
      [1, 4],
      [2, 5],
    ];
    expect(value(body)).toEqual([three("cuda:0"), turned, VALUES, turned, "cuda:1", VALUES[0], "cuda:1"]);
  });

  test(".pt files name devices, and mapLocation says where they go", () => {
    const body = `
      const path = dir + "/a.pt";
      const x = arange(6).cuda(1);
      io.saveTorch({ x, view: x.at("2:4"), y: ones(2), p: new nn.Parameter(ones(1).cuda()) }, path);
      const of = (mapLocation) => {
        const made = io.loadTorch(path, { mapLocation });
        made.view.fill_(9);
        return [String(made.x.device), String(made.y.device), String(made.p.device), made.x.tolist()];
      };
      const seen = [];
      const asked = (storage, location) => { seen.push([location, storage.nbytes()]);
        return location === "cuda:1" ? "cuda:0" : null; };
      return [of(undefined), of("cuda"), of({ "cuda:1": "cuda:0", cpu: "cuda:1" }), of(asked), seen,
        text(() => io.loadTorch(path, { mapLocation: [1] }))];`;
    const list = [0, 1, 9, 9, 4, 5];
    expect(value(body)).toEqual([
      ["cpu", "cpu", "cpu", list],
      ["cuda:0", "cuda:0", "cuda:0", list],
      ["cuda:0", "cuda:1", "cpu", list],
      ["cuda:0", "cpu", "cpu", list],
      [
        ["cuda:1", 48],
        ["cpu", 8],
        ["cuda:0", 4],
      ],
      "mapLocation must be a device, a record of devices, or a function",
    ]);
  });
});

describe.if(emulated)("storages on a device", () => {
  test("are read, filled, copied and resized", () => {
    const body = `
      const x = tensor([1, 258], { dtype: "int16" }).cuda();
      const bytes = x.untypedStorage();
      const copy = bytes.clone();
      const first = [bytes.tolist(), bytes.at(-1), String(bytes.device), bytes.dataPtr() === x.dataPtr()];
      bytes.fill_(2);
      const floats = ones(2).cuda().storage();
      floats.setAt(0, 5);
      const text = String(floats);
      return [...first, x.tolist(), copy.tolist(), String(copy.device), text, bytes.resize_(2).nbytes(),
        floats.tolist(), String(copy).split("\\n").at(-1)];`;
    expect(value(body)).toEqual([
      [1, 0, 2, 1],
      1,
      "cuda:0",
      true,
      [514, 514],
      [1, 0, 2, 1],
      "cuda:0",
      " 5.0\n 1.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cuda:0) of size 2]",
      2,
      [5, 1],
      "[torch.storage.UntypedStorage(device=cuda:0) of size 4]",
    ]);
  });
});

describe.if(emulated)("shared memory", () => {
  test("of this process, by address", () => {
    const body = `
      const x = arange(6).view(2, 3).cuda();
      const y = cuda.fromPointer(cuda.toPointer(x.t()));
      y.mul_(2);
      return [x.tolist(), y.shape, String(y.device), text(() => cuda.fromPointer({ pointer: -1 })),
        text(() => cuda.toPointer(ones(1).requiresGrad_()))];`;
    expect(value(body)).toEqual([
      [
        [0, 2, 4],
        [6, 8, 10],
      ],
      [3, 2],
      "cuda:0",
      "fromPointer: an address, a device, a dtype, a shape and strides are wanted",
      "Can't export tensors that require gradient, use tensor.detach()",
    ]);
  });

  test("of another process", () => {
    const body = `
      const x = arange(10).cuda();
      const part = x.at("2:8").view(2, 3);
      const handle = cuda.ipcHandle(part);
      const lines = \`
        const z = await import(\${JSON.stringify(process.env.ZENSOR_INDEX)});
        const y = z.cuda.openIpc(\${JSON.stringify(handle)});
        const again = z.cuda.openIpc(\${JSON.stringify(handle)});
        const seen = y.tolist();
        y.add_(100);
        z.cuda.synchronize();
        y.dispose();
        console.log(JSON.stringify([seen, again.tolist(), String(again.device)]));\`;
      const child = Bun.spawnSync([process.execPath, "-e", lines], { env: process.env });
      const own = text(() => cuda.openIpc(handle));
      return [JSON.parse(child.stdout.toString()), x.tolist(), own, text(() => cuda.ipcHandle(ones(2)))];`;
    const code = `process.env.ZENSOR_INDEX = ${JSON.stringify(join(import.meta.dir, "../../src/index.ts"))}; ${body}`;
    const rows = [
      [2, 3, 4],
      [5, 6, 7],
    ];
    expect(value(code)).toEqual([
      [rows, rows.map((row) => row.map((n) => n + 100)), "cuda:0"],
      [0, 1, 102, 103, 104, 105, 106, 107, 8, 9],
      "CUDA error: invalid device context",
      "only memory that was allocated on a GPU can be given away, not a tensor on cpu",
    ]);
  });
});
