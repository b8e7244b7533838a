/** The table that torch prints of an allocator's numbers. */

type Stats = Readonly<Record<string, number>>;
type Scale = (n: number, like: number) => string;

const LINE = 75;

/** A number in the unit in which `like` is easily read. */
function scaled(units: readonly string[], step: number, most: number, width: number): Scale {
  return (n, like) => {
    let unit = 0;
    for (; unit < units.length - 1 && like >= most; unit++) {
      n = Math.floor(n / step);
      like /= step;
    }
    return `${String(n).padStart(width)} ${units[unit]}`;
  };
}

const bytes = scaled(["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024, 768 * 1024, 6);
const count = scaled(["  ", "K ", "M "], 1000, 750 * 1000, 7);

const ROWS: readonly (readonly [key: string, title: string, scale: Scale])[] = [
  ["allocated_bytes", "Allocated memory", bytes],
  ["active_bytes", "Active memory", bytes],
  ["requested_bytes", "Requested memory", bytes],
  ["reserved_bytes", "GPU reserved memory", bytes],
  ["inactive_split_bytes", "Non-releasable memory", bytes],
  ["allocation", "Allocations", count],
  ["active", "Active allocs", count],
  ["segment", "GPU reserved segments", count],
  ["inactive_split", "Non-releasable allocs", count],
];
const OVERSIZE = [
  ["oversize_allocations", "Oversize allocations"],
  ["oversize_segments", "Oversize GPU segments"],
] as const;

/** Current, highest, allocated, freed; in the units of the numbers under `like`. */
function row(stats: Stats, title: string, key: string, like: string, scale: Scale): string {
  const cells = ["current", "peak", "allocated", "freed"].map((field) =>
    scale(stats[`${key}.${field}`] ?? 0, stats[`${like}.${field}`] ?? 0),
  );
  return ` ${title.padEnd(21)} | ${cells.join(" | ")} `;
}

export function summary(stats: Stats, index: number, abbreviated: boolean): string {
  const [thick, thin] = ["=".repeat(LINE), "-".repeat(LINE)];
  const ooms = String(stats.num_ooms ?? 0).padEnd(12);
  const retries = String(stats.num_alloc_retries ?? 0).padEnd(8);
  const lines = [
    thick,
    ` ${"".padEnd(17)} zensor CUDA memory summary, device ID ${String(index).padEnd(17)} `,
    thin,
    `  ${"".padEnd(9)} CUDA OOMs: ${ooms} | ${"".padEnd(6)} cudaMalloc retries: ${retries}  `,
    thick,
    "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
  ];
  for (const [key, title, scale] of ROWS) {
    lines.push(thin, row(stats, title, `${key}.all`, `${key}.all`, scale));
    if (abbreviated) continue;
    lines.push(row(stats, "      from large pool", `${key}.large_pool`, `${key}.all`, scale));
    lines.push(row(stats, "      from small pool", `${key}.small_pool`, `${key}.all`, scale));
  }
  for (const [key, title] of OVERSIZE) lines.push(thin, row(stats, title, key, key, count));
  lines.push(thick);
  return `|${lines.join("|\n|")}|\n`;
}
