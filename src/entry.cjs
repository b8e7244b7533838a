// What `import "zensor"` loads: the built file, or the sources where it is missing or older than they are.
const { bundleFile, bundleIsCurrent } = require("./bundle.cjs");

module.exports = bundleIsCurrent() ? require(bundleFile) : require("./index.ts");
