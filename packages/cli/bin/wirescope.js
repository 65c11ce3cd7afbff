#!/usr/bin/env node
import { isBuilt, loadBundle } from "./load-bundle.js";

if (isBuilt()) {
  const isGateway = ["up", "demo"].includes(process.argv[2] ?? "");
  await loadBundle(isGateway ? "gateway" : "command").exports.runProcess();
} else {
  process.stderr.write("wirescope: The command is not built yet. Run npm run build in its checkout first.\n");
  process.exitCode = 1;
}
