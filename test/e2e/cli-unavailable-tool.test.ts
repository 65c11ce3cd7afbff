import { expect, test } from "vitest";
import { createUserFolder, startCommand, startGateway } from "./command.test.helper.js";
import { endOf } from "./running-process.test.helper.js";

test("call says why the server of a tool is down, as the gateway knows it", async () => {
  const user = createUserFolder();
  const source = `
    const results = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
      "tools/list": { tools: [{ name: "env", inputSchema: { type: "object" } }] },
    };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
    });`;
  user.configure({
    s: { command: process.execPath, args: ["-e", source] },
    ex: { command: process.execPath, args: ["-e", "process.exit(3)"] },
  });
  const here = { cwd: user.folder, env: { HOME: user.home, PATH: process.env.PATH ?? "" } };
  await startGateway(["--port", "0", "--log", "off", "--trust"], here);
  const call = (...words: string[]) => endOf(startCommand(["call", ...words], here));

  const { code, stderr } = await call("ex", "env");
  expect(code).toBe(1);
  expect(stderr).toMatch(/^wirescope: Using the gateway at http:.*\nwirescope: .*exited with code 3/);
  expect(stderr).not.toContain("Did you mean");
  // A tool that does not exist at all is a mistake in the command line.
  expect(await call("s", "enw")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Unknown tool "enw". Did you mean env?'),
  });
});
