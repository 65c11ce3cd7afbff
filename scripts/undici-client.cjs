// In the bundle this is "undici": the one class that the program uses. The whole of undici also loads the fetch of Node itself,
// which takes as long as everything else that a start loads.

// Not "undici/lib/…", because the bundle would replace that as well.
exports.Client = require("../node_modules/undici/lib/dispatcher/client.js");
