import { describe, expect, test } from "vitest";
import { connect, connectOld, startTestGateway, textOf } from "./gateway.test.helper.js";
import { makeEcho, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

describe("tools", () => {
  test("of servers of both eras are one list, for clients of both eras", async () => {
    const gateway = await startTestGateway({
      old: { type: "http", url: await serveLegacy(makeEcho("old")) },
      new: { type: "http", url: await serveModern(makeEcho("new")) },
    });
    const clients = [await connect(gateway, "modern"), await connect(gateway, "legacy"), await connectOld(gateway)];
    for (const client of clients) {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["old__echo", "new__echo"]);
      for (const server of ["old", "new"]) {
        const result = await client.callTool({ name: `${server}__echo`, arguments: { text: "hello" } });
        expect(textOf(result)).toBe(`${server}: hello`);
      }
    }
  });
});
