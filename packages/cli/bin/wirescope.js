#!/usr/bin/env node
import { loadBundle } from "./load-bundle.js";

const isGateway = ["up", "demo"].includes(process.argv[2] ?? "");
await loadBundle(isGateway ? "gateway" : "command").exports.runProcess();
