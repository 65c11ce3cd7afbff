// npm start: runs the gateway in this process, so that it receives signals. For the same reason package.json has `exec node`:
// the shell that npm starts would be killed by the signal and leave its child behind.

import { command } from "./setup.mjs";

await command(async (args) => {
  const { loadBundle } = await import("../packages/cli/bin/load-bundle.js");
  const { main, processIo } = loadBundle("gateway").exports;
  return main(["up", ...args], { ...processIo(), program: "npx wirescope" });
});
