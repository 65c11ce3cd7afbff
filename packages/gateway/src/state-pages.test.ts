import { connectChannelz, readTree, type TreeNode } from "@wirescope/channelz";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect, pollOptions, startTestGateway } from "./gateway.test.helper.js";
import { makeEcho, serve, serveModern } from "./tool-servers.test.helper.js";

/** The roles of the sockets below a node; each must have been read. */
function rolesOf(node: TreeNode | undefined): Set<string | undefined> {
  return new Set(
    node?.children.map((child) => (child.kind === "socket" && child.object !== undefined ? child.role : undefined)),
  );
}

describe("health and metrics", () => {
  test("serves /healthz at once, and /readyz when each server has connected or failed", async () => {
    let respond: (() => void) | undefined;
    const port = await serve((_, response) => {
      respond = () => void response.writeHead(500).end();
    });
    const { url } = await startTestGateway({ slow: { type: "http", url: `http://127.0.0.1:${port}/mcp` } });
    const status = async (path: string) => (await fetch(`${url}${path}`)).status;
    expect(await status("/healthz")).toBe(200);
    expect(await status("/readyz")).toBe(503);
    await expect.poll(() => typeof respond, pollOptions).toBe("function");
    expect(await status("/readyz")).toBe(503);
    respond?.();
    await expect.poll(() => status("/readyz"), pollOptions).toBe(200);
    expect((await fetch(`${url}/healthz`, { method: "POST" })).status).toBe(405);
    expect(await (await fetch(`${url}/readyz`)).text()).toBe("ready\n");
  });

  test("counts calls in /metrics by method, server and outcome", async () => {
    const gateway = await startTestGateway({ echo: { type: "http", url: await serveModern(makeEcho("echo")) } });
    const client = await connect(gateway, "modern");
    await client.callTool({ name: "echo__echo", arguments: { text: "a" } });
    await client.callTool({ name: "echo__echo", arguments: {} });
    await client.callTool({ name: "nothing", arguments: {} }).catch(() => {});
    const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${gateway.token}` } });
    expect(response.headers.get("content-type")).toContain("text/plain; version=0.0.4");
    const text = await response.text();
    const value = (line: string) =>
      Number(
        text
          .split("\n")
          .find((each) => each.startsWith(line))
          ?.split(" ")
          .at(-1),
      );
    const calls = (server: string, outcome: string) =>
      value(`wirescope_gateway_calls_total{method="tools/call",server="${server}",outcome="${outcome}"}`);
    expect([calls("echo", "ok"), calls("echo", "tool-error"), calls("", "error")]).toEqual([1, 1, 1]);
    expect(value('wirescope_gateway_call_duration_seconds_count{method="tools/call",server="echo"}')).toBe(2);
    expect(value('wirescope_gateway_server_state{server="echo",state="READY"}')).toBe(1);
    expect(value('wirescope_gateway_server_tools{server="echo"}')).toBe(1);
    expect(
      text
        .split("\n")
        .filter((line) => line !== "" && !/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? [\d.e+-]+)$/.test(line)),
    ).toEqual([]);
  });
});

describe("Channelz on the same port", () => {
  test("shows tool servers as channels, and the gateway as a server with its sockets and calls", async () => {
    const gateway = await startTestGateway({ echo: { type: "http", url: await serveModern(makeEcho("echo")) } });
    const client = await connect(gateway, "modern");
    await client.callTool({ name: "echo__echo", arguments: { text: "a" } });
    const address = gateway.gateway.address ?? "";
    const stranger = connectChannelz(address, { token: "wrong" });
    onTestFinished(() => stranger.close());
    await expect(stranger.getServers()).rejects.toMatchObject({ code: "PEER_REFUSED" });
    const connection = connectChannelz(address, { token: gateway.token });
    onTestFinished(() => connection.close());
    const { channel } = await connection.getTopChannels();
    expect(channel.map(({ ref }) => ref?.name)).toEqual(["echo"]);
    expect(Number(channel[0]?.data?.callsSucceeded)).toBeGreaterThanOrEqual(2);
    const { server } = await connection.getServers();
    expect(server.map(({ ref }) => ref?.name)).toEqual(["wirescope"]);
    expect(server[0]?.listenSocket).toHaveLength(1);
    expect(Number(server[0]?.data?.callsSucceeded)).toBeGreaterThanOrEqual(2);
    const { socketRef } = await connection.getServerSockets(server[0]?.ref?.serverId ?? 0n);
    expect(socketRef.length).toBeGreaterThan(0);
    const tree = await readTree(connection);
    expect(tree.isComplete).toBe(true);
    const [echo, wirescope] = [tree.channels[0], tree.servers[0]];
    expect([tree.channels.length, echo?.kind, echo?.name]).toEqual([1, "channel", "echo"]);
    expect(echo?.children.map(({ kind }) => kind)).toEqual(["subchannel"]);
    expect([tree.servers.length, wirescope?.kind, wirescope?.name]).toEqual([1, "server", "wirescope"]);
    expect(rolesOf(echo?.children[0])).toEqual(new Set(["client"]));
    expect(rolesOf(wirescope)).toEqual(new Set(["listen", "server"]));
  });
});
