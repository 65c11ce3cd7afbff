// Replaces "undici" in the bundle: only the class that the program uses. All of undici also loads the fetch of Node itself,
// which takes as long as everything else at startup.

// Not "undici/lib/…", because the bundle would replace that as well.
exports.Client = require("../node_modules/undici/lib/dispatcher/client.js");
