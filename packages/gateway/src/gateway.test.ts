import { createSecretRegistry } from "@wirescope/tool-server";
import { describe, expect, test } from "vitest";
import { configurationOf, connect, connectOld, startTestGateway, textOf } from "./gateway.test.helper.js";
import { makeEcho, modernListener, serve, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

describe("tools", () => {
  test("lists the tools of legacy and modern servers together, for legacy and modern clients", async () => {
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

describe("events", () => {
  test("reports each call without its arguments", async () => {
    const gateway = await startTestGateway({ echo: { type: "http", url: await serveModern(makeEcho("echo")) } });
    const client = await connect(gateway, "legacy");
    await client.callTool({ name: "echo__echo", arguments: { text: "a private matter" } });
    const [call] = gateway.events.filter((event) => event.kind === "call" && event.method === "tools/call");
    expect(call).toEqual({
      kind: "call",
      id: expect.any(Number),
      method: "tools/call",
      server: "echo",
      name: "echo",
      clientName: "test-legacy 1.0.0",
      session: expect.stringMatching(/^[\w-]{8}$/),
      outcome: "ok",
      reason: undefined,
      durationMs: expect.any(Number),
    });
    expect(JSON.stringify(gateway.events)).not.toContain("a private matter");
    expect(gateway.events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["server-state", "session-opened"]));
  });

  test("reports the arguments of a call if logsArguments is set", async () => {
    const entries = { echo: { type: "http", url: await serveModern(makeEcho("echo")) } };
    const gateway = await startTestGateway(entries, { logsArguments: true });
    const client = await connect(gateway, "modern");
    await client.callTool({ name: "echo__echo", arguments: { text: "logged" } });
    expect(gateway.events).toContainEqual(expect.objectContaining({ arguments: { text: "logged" } }));
  });

  test("redacts events, and ignores a listener that throws", async () => {
    const secrets = createSecretRegistry();
    secrets.add("s3cret-of-a-server");
    const seen: unknown[] = [];
    const entries = { echo: { type: "http", url: await serveModern(makeEcho("echo")) } };
    const gateway = await startTestGateway(entries, {
      secrets,
      onEvent(event) {
        seen.push(event);
        throw new Error("The listener fails.");
      },
    });
    const client = await connect(gateway, "modern");
    await expect(client.callTool({ name: "echo__s3cret-of-a-server", arguments: {} })).rejects.toThrow(
      "does not exist",
    );
    expect(textOf(await client.callTool({ name: "echo__echo", arguments: { text: "a" } }))).toBe("echo: a");
    expect(JSON.stringify(seen)).toContain("[redacted]");
    expect(JSON.stringify(seen)).not.toContain("s3cret-of-a-server");
    expect(secrets.redact(`the token ${gateway.token}`)).toBe("the token [redacted]");
  });
});

test("sends each server its own secrets and none of another server", async () => {
  const seen: Record<string, string> = {};
  const serveSeeing = async (name: string): Promise<string> => {
    const listener = modernListener(makeEcho(name));
    const port = await serve((request, response) => {
      seen[name] = `${seen[name] ?? ""}${JSON.stringify(request.headers)}`;
      listener(request, response);
    });
    return `http://127.0.0.1:${port}/mcp`;
  };
  const entry = async (name: string) => ({
    type: "http",
    url: await serveSeeing(name),
    headers: { Authorization: `Bearer \${TOKEN_OF_${name.toUpperCase()}}` },
  });
  const variables = { TOKEN_OF_ONE: "secret-of-one-0123", TOKEN_OF_TWO: "secret-of-two-0123" };
  const configured = configurationOf({ one: await entry("one"), two: await entry("two") }, { variables });
  const gateway = await startTestGateway({}, { configurations: [configured] });
  const client = await connect(gateway, "modern");
  for (const name of ["one", "two"]) await client.callTool({ name: `${name}__echo`, arguments: { text: "a" } });
  for (const [name, other] of [
    ["one", "two"],
    ["two", "one"],
  ] as const) {
    expect(seen[name]).toContain(`secret-of-${name}-0123`);
    expect(seen[name]).not.toContain(`secret-of-${other}`);
  }
  expect(gateway.gateway.servers()[0]?.credential).toBe("static header (Authorization)");
  expect(JSON.stringify(gateway.gateway.servers())).not.toContain("secret-of-one");
});
