#!/usr/bin/env node
import { runProcess } from "../bundle/index.js";

await runProcess();
