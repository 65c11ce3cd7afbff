#!/usr/bin/env node
import { runProcess } from "../dist/index.js";

await runProcess();
