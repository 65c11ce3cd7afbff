// npm start: the gateway, in this very process, so that a signal sent to it reaches who must obey it. For the same reason
// package.json says `exec node`: the shell that npm starts would die of the signal and leave its child behind.

import { command } from "./setup.mjs";

await command(async (args) => {
  const { loadBundle } = await import("../packages/cli/bin/load-bundle.js");
  const { main, processIo } = loadBundle("gateway").exports;
  return main(["up", ...args], { ...processIo(), program: "npx wirescope" });
});
