import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { pollOptions, post, startTestGateway } from "./gateway.test.helper.js";
import { serveRaw } from "./raw-server.test.helper.js";

const clients = 8;
// More than the system's buffers hold.
const responseBytes = 10_000_000;

test("limits the total of JSON responses that clients do not read, without affecting a client that reads", async () => {
  const large = JSON.stringify({ content: [{ type: "text", text: "x".repeat(responseBytes) }] });
  const server = await serveRaw({
    "tools/call": ({ params }) =>
      JSON.stringify(params?.arguments).includes("large") ? large : '{"content":[{"type":"text","text":"small"}]}',
  });
  const maxUnreadBytes = 8_000_000;
  const gateway = await startTestGateway({ raw: server.entry }, { listen: { limits: { maxUnreadBytes } } });
  await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(1);
  const version = "2026-07-28";
  const call = (size: string): string =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "raw__echo",
        arguments: { size },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": version,
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    });
  const headers = { "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "raw__echo" };
  const { host, hostname, port } = new URL(gateway.endpoint);
  const askAndSleep = (): Socket => {
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    const all = {
      host,
      authorization: `Bearer ${gateway.token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "content-length": call("large").length,
      ...headers,
    };
    const lines = Object.entries(all).map((pair) => `${pair.join(": ")}\r\n`);
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${call("large")}`);
    return socket;
  };
  const connections = async (): Promise<number> => {
    let open = 0;
    const { server: shown } = await gateway.gateway.registry.getServers();
    for (const { ref } of shown)
      open += (await gateway.gateway.registry.getServerSockets(ref?.serverId ?? 0n)).socketRef.length;
    return open;
  };
  const completed = (): number => gateway.events.filter(({ kind }) => kind === "call").length;
  for (let sent = 1; sent <= clients; sent += 1) {
    askAndSleep();
    await expect.poll(completed, pollOptions).toBe(sent);
  }
  // Each remaining connection has several megabytes buffered. One more belongs to the client that reads.
  await expect.poll(connections, pollOptions).toBeLessThanOrEqual(clients / 2);
  const response = await post(gateway, call("small"), headers);
  expect(await response.json()).toMatchObject({ result: { content: [{ text: "small" }] } });
});
