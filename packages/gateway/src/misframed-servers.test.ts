import { expect, test } from "vitest";
import { connect, pollOptions, slowLists, startTestGateway } from "./gateway.test.helper.js";
import { small } from "./tool-servers.test.helper.js";

/** A stdio server that responds to each request as `write` says. */
const serverWith = (write: string): { command: string; args: string[] } => ({
  command: process.execPath,
  args: [
    "-e",
    `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const serverInfo = { name: "odd", version: "1" };
      const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo, tools: [] };
      const outcome = method === "server/discover" ? { error: { code: -32601, message: "no" } } : { result };
      const message = { jsonrpc: "2.0", id, ...outcome };
      ${write}
    });`,
  ],
});

const misframed: readonly [string, object, RegExp][] = [
  [
    "returns ids as strings",
    serverWith('process.stdout.write(JSON.stringify({ ...message, id: String(id) }) + "\\n");'),
    /responded with the id "\d+", a string/,
  ],
  [
    "writes Content-Length headers",
    serverWith(
      'const text = JSON.stringify(message); process.stdout.write("Content-Length: " + text.length + "\\r\\n\\r\\n" + text);',
    ),
    /writes its messages with Content-Length headers/,
  ],
  [
    "writes JSON over several lines",
    serverWith('process.stdout.write(JSON.stringify(message, undefined, 2) + "\\n");'),
    /writes a message over several lines/,
  ],
  [
    "never ends a line",
    {
      command: process.execPath,
      args: ["-e", "setInterval(() => process.stdout.write(Buffer.alloc(2 ** 20, 120)), 5)"],
    },
    /wrote a line of more than \d+ bytes/,
  ],
];

test.each(misframed)(
  "[TS-D-CONN-7] fails a stdio server at once that %s, and lists the others without delay",
  async (_, entry, reason) => {
    // A client that waited for the server would give up.
    const gateway = await startTestGateway({ odd: entry, small }, { limits: slowLists });
    const failure = () => gateway.gateway.servers()[0]?.failure?.message;
    await expect.poll(failure, pollOptions).toMatch(reason);
    const client = await connect(gateway, "legacy");
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("small__echo");
  },
);
