// What `import "zensor"` loads: the built file, or the sources where it is missing or older than they are.
require("./needs-bun.cjs");
const { bundleFile, bundleIsCurrent } = require("./bundle.cjs");

module.exports = bundleIsCurrent() ? require(bundleFile) : require("./index.ts");

// Names for other runtimes, which link before they run.
0 && (module.exports = require("../build/lib/names.cjs"));
