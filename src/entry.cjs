// What loaders take that do not know the condition "bun": all that the module in front of the built file exports, or the
// sources where that file is missing or older than they are.
require("./needs-bun.cjs");
const { bundleIsCurrent } = require("./bundle.cjs");

module.exports = bundleIsCurrent() ? require("../build/lib/zensor.mjs") : require("./index.ts");

// Names for other runtimes, which link before they run.
0 && (module.exports = require("../build/lib/names.cjs"));
