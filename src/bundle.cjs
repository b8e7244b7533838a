// The whole library as one file with compiled code beside it, which loads in a fraction of the time of the sources.
// `bun run build` makes it; it is used only while no source is newer.

const root = __dirname.slice(0, -"/src".length);
const folders = ["src", "generated"].map((folder) => `${root}/${folder}`);

/** Where the one file is. */
const bundleFile = `${root}/build/lib/zensor.compiled.js`;

/** As bun reads folders and times: Node's functions for that would be loaded for nothing else. */
function isCurrentInBun() {
  const time = Bun.file(bundleFile).size > 0 ? Bun.file(bundleFile).lastModified : 0;
  const sources = new Bun.Glob("**/*.{ts,cjs}");
  for (const folder of folders) {
    for (const file of sources.scanSync({ cwd: folder, absolute: true })) {
      if (Bun.file(file).lastModified > time) return false;
    }
  }
  return time > 0;
}

function isCurrentInNode() {
  const { readdirSync, statSync } = require("node:fs");
  const writtenAt = (/** @type {string} */ file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const time = writtenAt(bundleFile);
  const hasNewer = (/** @type {string} */ folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).some(
      (file) => /\.(ts|cjs)$/.test(file) && writtenAt(`${folder}/${file}`) > time,
    );
  return time > 0 && !folders.some(hasNewer);
}

/** Whether the one file exists and was made from the sources as they are. */
function bundleIsCurrent() {
  return typeof Bun === "object" ? isCurrentInBun() : isCurrentInNode();
}

module.exports = { bundleFile, bundleIsCurrent };
