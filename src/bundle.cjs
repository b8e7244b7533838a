// The whole library as one file with compiled code beside it, which loads in a fraction of the time of the sources.
// `bun run build` makes it; it is used only while no source is newer.
const { readdirSync, statSync } = require("node:fs");
const { join } = require("node:path");

const root = join(__dirname, "..");

/** Where the one file is. */
const bundleFile = join(root, "build", "lib", "zensor.compiled.js");

/**
 * When the file was last written, 0 if there is none.
 * @param {string} file
 */
function writtenAt(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/**
 * Whether a source under the folder is newer than the given time.
 * @param {string} folder
 * @param {number} time
 * @returns {boolean}
 */
function hasNewer(folder, time) {
  return readdirSync(folder, { withFileTypes: true }).some((entry) => {
    const file = join(folder, entry.name);
    return entry.isDirectory() ? hasNewer(file, time) : /\.(ts|cjs)$/.test(entry.name) && writtenAt(file) > time;
  });
}

/** Whether the one file exists and was made from the sources as they are. */
function bundleIsCurrent() {
  const time = writtenAt(bundleFile);
  return time > 0 && !["src", "generated"].some((folder) => hasNewer(join(root, folder), time));
}

module.exports = { bundleFile, bundleIsCurrent };
