// node --import @wirescope/instrument/auto app.js
//
// Makes a process visible through Channelz without a change to its code, if WIRESCOPE_LISTEN is set.

import { startFromEnvironment } from "./process/start-from-environment.js";

await startFromEnvironment(process.env);
