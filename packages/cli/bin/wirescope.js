#!/usr/bin/env node
import { loadBundle } from "./load-bundle.js";

await loadBundle().exports.runProcess();
