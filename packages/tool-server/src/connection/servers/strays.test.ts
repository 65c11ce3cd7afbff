import { expect, onTestFinished, test } from "vitest";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { createScriptFolder, type ScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createToolServers, type ToolServers } from "./tool-servers.js";

/** A stdio server that runs this script, with these time limits. */
async function serve(
  write: (folder: ScriptFolder) => Promise<string>,
  limits: { readonly idleTimeoutMs?: number; readonly connectTimeoutMs?: number },
): Promise<ToolServers> {
  const folder = await createScriptFolder();
  const command = await write(folder);
  const secrets = createSecretRegistry();
  const servers = createToolServers({
    configuration: parseConfiguration(JSON.stringify({ notes: { command } }), { secrets }),
    variables: { PATH: process.env.PATH },
    pluginRoot: folder.path,
    secrets,
    assertTrusted: async () => {},
    ...limits,
    settings: { info: { name: "test", version: "0" } },
  });
  onTestFinished(() => servers.close());
  return servers;
}

const advice = "A server writes its log to standard error.";

test("[TS-D-CONN-2] says that a handshake got text in place of a response", async () => {
  const servers = await serve(({ sh }) => sh('echo "Listening on port 3000"; while read line; do :; done'), {
    connectTimeoutMs: 2000,
  });
  const connection = await servers.open("notes");
  await expect(connection.connect()).rejects.toMatchObject({
    code: "CALL_TIMEOUT",
    message: expect.stringContaining(
      `It never responded, but wrote text that is not a protocol message to its standard output, starting with "Listening on port 3000". ${advice} `,
    ),
  });
});

test("[TS-D-CONN-2] says that a call got text in place of a response", async () => {
  const script = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      const response = (more) => console.log(JSON.stringify({ jsonrpc: "2.0", id, ...more }));
      if (method === "initialize")
        response({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "n", version: "1" } } });
      else if (method === "tools/call") console.log("{ rows: [ 1, 2 ] }");
      else if (id !== undefined) response({ error: { code: -32601, message: "no" } });
    });`;
  const servers = await serve(({ node }) => node(script), { idleTimeoutMs: 2000 });
  const connection = await servers.open("notes");
  await expect(connection.callTool({ name: "query", arguments: {} })).rejects.toMatchObject({
    code: "CALL_TIMEOUT",
    message:
      'The server "notes" neither responded to tools/call nor reported progress for 2 s. The call was cancelled. ' +
      'Since its last message it wrote text that is not a protocol message to its standard output, starting with "{ rows: [ 1, 2 ] }". ' +
      `${advice} Increase the time limit, or check what the server is doing.`,
  });
});
