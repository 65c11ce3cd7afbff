import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { connect, type Mode, startTestGateway, textOf } from "./gateway.test.helper.js";
import { serve } from "./tool-servers.test.helper.js";

interface Rejecting {
  /** The status of a call of the tool "strict", which is always rejected. */
  readonly status: number;
  /** Whether the rejection is a JSON-RPC error, and has the id of the call. */
  readonly body: "with its id" | "without an id" | "of text";
  /** Whether the server has no ping, and rejects it in the same way. */
  readonly rejectsPing: boolean;
}

/** A server of the older era that rejects its event stream and the calls of a tool, with the JSON-RPC code of a lost session. */
async function serveRejecting({ status, body, rejectsPing }: Rejecting) {
  let handshakes = 0;
  const port = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const { id, method, params = {} } = text === "" ? {} : JSON.parse(text);
    const reject = (code: number, message: string): unknown =>
      response.writeHead(code, { "content-type": body === "of text" ? "text/plain" : "application/json" }).end(
        body === "of text"
          ? message
          : JSON.stringify({
              jsonrpc: "2.0",
              id: body === "with its id" ? id : null,
              error: { code: -32_000, message },
            }),
      );
    if (request.method !== "POST") return reject(400, "Bad Request: there is no stream");
    if (method === "server/discover") return reject(400, "Bad Request");
    if (id === undefined) return response.writeHead(202).end();
    if (method === "tools/call" && params.name === "strict") return reject(status, "argument x is missing");
    if (method === "ping" && rejectsPing) return reject(400, "Bad Request: unknown method");
    if (method === "initialize") handshakes += 1;
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "strict", version: "1" },
      },
      "tools/list": { tools: ["strict", "good"].map((name) => ({ name, inputSchema: { type: "object" } })) },
      "tools/call": { content: [{ type: "text", text: "ok" }] },
    };
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": randomUUID() });
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
  });
  return { entry: { type: "http", url: `http://127.0.0.1:${port}/mcp` }, handshakes: () => handshakes };
}

const modes: readonly Mode[] = ["legacy", "modern"];
const cases = modes.flatMap((mode) =>
  [400, 404, 410].flatMap((status) =>
    (["with its id", "without an id", "of text"] as const).flatMap((body) =>
      [true, false].map((rejectsPing) => ({ mode, status, body, rejectsPing })),
    ),
  ),
);

describe.each(cases)("a call that is rejected with $status ($mode, $body, without ping: $rejectsPing)", (given) => {
  test("[TS-D-HTTP-4] gets the words of the server, and takes no other tool down", async () => {
    const server = await serveRejecting(given);
    const gateway = await startTestGateway({ server: server.entry });
    const client = await connect(gateway, given.mode);
    const call = (name: string) => client.callTool({ name: `server__${name}`, arguments: {} });
    for (let round = 0; round < 3; round += 1) {
      await expect(call("strict")).rejects.toThrow(/argument x is missing/);
      expect(textOf(await call("good"))).toBe("ok");
      expect((await client.listTools()).tools).toHaveLength(2);
    }
    expect(gateway.gateway.servers()[0]?.state).toBe("READY");
    if (!given.rejectsPing) expect(server.handshakes()).toBe(1);
  });
});
