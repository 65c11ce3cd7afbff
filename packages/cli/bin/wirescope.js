#!/usr/bin/env node
// CommonJS (see package.json in this folder): Node starts it about 12 ms earlier than a module.
const { isBuilt, loadBundle } = require("./load-bundle.js");

if (isBuilt()) {
  const isGateway = ["up", "demo"].includes(process.argv[2] ?? "");
  loadBundle(isGateway ? "gateway" : "command").exports.runProcess();
} else {
  process.stderr.write("wirescope: The command is not built yet. Run npm run build in its checkout first.\n");
  process.exitCode = 1;
}
