// node --import @wirescope/instrument/auto app.js
//
// Makes a process visible through Channelz without a change to it, where WIRESCOPE_LISTEN says so.

import { startFromEnvironment } from "./process/start-from-environment.js";

await startFromEnvironment(process.env);
