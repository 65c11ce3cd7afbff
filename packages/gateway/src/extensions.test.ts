import { McpServer } from "@modelcontextprotocol/server";
import { metaKeys } from "@wirescope/tool-server/internal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connect, patience, startTestGateway, textOf } from "./gateway.test.helper.js";
import { type MakeServer, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

/** A server that declares these extensions, and whose tool returns those that the client declared. */
function makeExtended(extensions: Record<string, Record<string, unknown>>): MakeServer {
  return () => {
    const server = new McpServer(
      { name: "extended", version: "1.0.0" },
      { capabilities: { tools: {}, extensions: extensions as Record<string, Record<string, never>> } },
    );
    server.registerTool("declared", { inputSchema: z.object({}) }, (_, { mcpReq: { envelope } }) => {
      const capabilities = (envelope as Record<string, unknown> | undefined)?.[metaKeys.clientCapabilities];
      return { content: [{ type: "text", text: JSON.stringify(capabilities ?? null) }] };
    });
    return server;
  };
}

describe("extensions in capabilities [TS-D-EXT-1]", () => {
  test.each(["modern", "legacy"] as const)(
    "a %s client receives the extensions of all servers, merged by id",
    async (mode) => {
      const one = await serveModern(makeExtended({ "example.com/a": { modes: ["x"], nested: { first: 1 } } }));
      const two = await serveLegacy(
        makeExtended({ "example.com/a": { modes: ["x", "y"], nested: { second: 2 } }, "example.com/b": {} }),
      );
      const gateway = await startTestGateway({ one: { type: "http", url: one }, two: { type: "http", url: two } });
      await expect.poll(() => gateway.gateway.servers().every(({ state }) => state === "READY"), patience).toBe(true);
      const client = await connect(gateway, mode);
      expect(client.getServerCapabilities()?.extensions).toEqual({
        "example.com/a": { modes: ["x", "y"], nested: { first: 1, second: 2 } },
        "example.com/b": {},
      });
    },
  );

  test.each(["modern", "legacy"] as const)("a modern server receives the extensions of a %s client", async (mode) => {
    const url = await serveModern(makeExtended({}));
    const gateway = await startTestGateway({ one: { type: "http", url } });
    const extensions = { "example.com/unknown": { level: 3 } };
    const client = await connect(gateway, mode, { capabilities: { roots: {}, extensions } });
    const result = await client.callTool({ name: "one__declared", arguments: {} });
    expect(JSON.parse(textOf(result))).toEqual({ roots: {}, extensions });
  });
});
